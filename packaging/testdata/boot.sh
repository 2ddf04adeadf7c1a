#!/bin/sh
# boot.sh FOLDER FILE... boots systemd in a copy of this machine's files, of which nothing stays:
# changes go to a file system in memory. FOLDER is where it is mounted, and each FILE is copied to
# /packages. It needs its own namespaces of mounts, processes, networks, IPC, hostname and cgroups.
set -e
folder=$1
shift
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
root=$folder/root
mkdir "$root" "$folder/upper" "$folder/work"
mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root"
mkdir "$root/packages"
cp "$@" "$root/packages"
# Nothing that this machine starts by itself.
rm -rf "$root"/etc/systemd/system/*.wants "$root/etc/fstab"
# Nor the index of all manual pages, which takes a minute.
rm -f "$root/var/lib/man-db/auto-update"
ln -s /dev/null "$root/etc/systemd/system/systemd-modules-load.service"

mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
	IFS=: read -r name major minor <<-END
		$device
	END
	mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"

# Not chroot: the unit gets mounts of its own, which need a root that is one.
mkdir "$root/former"
cd "$root"
pivot_root . former
umount -l /former
# systemd reads from "container" that the kernel is not its own.
exec env -i container=dibs PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --unit=basic.target --log-target=journal --show-status=no </dev/null
