#!/bin/sh
# Before a removal, and before an upgrade, on Debian and Red Hat.
set -e

# The first argument is "remove" on Debian, and 0, the versions that will be left, on Red Hat.
case "$1" in
	remove | 0)
		if [ -d /run/systemd/system ]; then
			systemctl disable --now dibs.service
		fi
		;;
esac
