#!/bin/sh
# After a removal, on Debian and Red Hat.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi

# Names are not deleted with the package: their owners may still use them. The user stays, so
# that no later user gets its number, and with it the files.
case "$1" in
	purge | 0)
		rmdir /var/lib/dibs 2>/dev/null || true
		if [ -d /var/lib/dibs ]; then
			echo "The names in /var/lib/dibs are kept: remove the folder yourself if no one needs them."
		fi
		;;
esac
