package testdisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/calldibs/dibs/internal/harness"
)

// Disk is a file system in an image, which is in memory.
type Disk struct {
	// Path is where it is mounted.
	Path string

	image string
}

// patience is how long a step may take on a busy machine.
const patience = time.Minute

// New mounts a disk that is unmounted with the test. It returns an error if this user or system cannot.
func New(tb harness.TB) (*Disk, error) {
	tb.Helper()
	folder, err := os.MkdirTemp("", "dibs-disk-") // not in a folder of the test, which PostgreSQL's user cannot enter
	if err != nil {
		return nil, err
	}
	forget := harness.GuardFolder(folder)
	tb.Cleanup(func() {
		os.RemoveAll(folder)
		forget()
	})
	err = syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=50%") // memory is only used for what is on it
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil, errors.New("only root may mount a disk of their own")
	}
	if err != nil {
		return nil, fmt.Errorf("a disk of their own cannot be mounted: %w", err)
	}
	unmountLater(tb, folder)
	d := &Disk{filepath.Join(folder, "disk"), filepath.Join(folder, "image")}
	if err := d.format(); err != nil {
		return nil, err
	}
	if err := d.mount(); err != nil {
		return nil, err
	}
	unmountLater(tb, d.Path)
	return d, nil
}

func unmountLater(tb harness.TB, path string) {
	tb.Helper()
	forget := harness.GuardMount(path)
	tb.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			tb.Error(fmt.Errorf("unmounting %s: %w", path, err))
		}
		forget()
	})
}

// size is that of a disk: enough for PostgreSQL's journal.
const size = 4 << 30

func (d *Disk) format() error {
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(d.image, size); err != nil {
		return err
	}
	err := command("mkfs.ext4", "-q", "-F", "-m", "0", "-N", "8192", "-J", "size=16", d.image)
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("it needs mkfs.ext4 (Debian and Ubuntu: apt-get install e2fsprogs)")
	}
	return err
}

// mount mounts the image. The system writes to it what programs want to be written, and all else as
// late as it may.
func (d *Disk) mount() error {
	return command("mount", "-t", "ext4", "-o", "loop,discard,commit=300", d.image, d.Path)
}

// Sync writes everything to the disk.
func (d *Disk) Sync() error { return command("sync", "-f", d.Path) }

// LosePower takes away what the system has not written to the disk: no process may use it.
func (d *Disk) LosePower() error {
	written := d.image + ".written"
	if err := command("cp", "--sparse=always", d.image, written); err != nil {
		return err
	}
	if err := d.unmount(); err != nil {
		return err
	}
	if err := os.Rename(written, d.image); err != nil {
		return err
	}
	if err := d.mount(); err != nil {
		return err
	}
	return os.RemoveAll(d.ballast()) // its removal may not have been written
}

// unmount waits until processes that were killed have left the disk.
func (d *Disk) unmount() error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Unmount(d.Path, 0)
		if err == nil || !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
	}
}

func (d *Disk) ballast() string { return filepath.Join(d.Path, "ballast") }

// Fill leaves no room on the disk. Others write and delete meanwhile.
func (d *Disk) Fill() error {
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for filled, part := int64(0), int64(size); part >= 4096; {
		switch err := syscall.Fallocate(int(file.Fd()), 0, filled, part); {
		case err == nil:
			filled += part
		case errors.Is(err, syscall.ENOSPC):
			part /= 2
		case !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("filling %s: %w", d.Path, err)
		}
	}
	return nil
}

// Empty undoes Fill.
func (d *Disk) Empty() error { return os.Remove(d.ballast()) }

// SetReadOnly makes a disk read-only, on which no file is open for writing, or undoes it.
func (d *Disk) SetReadOnly(on bool) error {
	if on {
		return command("mount", "-o", "remount,ro", d.Path)
	}
	return command("mount", "-o", "remount,rw", d.Path)
}

// command runs a program of the system.
func command(name string, args ...string) error {
	if said, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, said)
	}
	return nil
}
