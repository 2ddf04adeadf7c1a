#!/bin/sh
# After an installation or an upgrade, on Debian and Red Hat.
set -e

# The first argument is "configure" and the former version on Debian, and how many versions are
# installed now on Red Hat.
case "$1" in
	configure) former="$2" ;;
	abort-*) exit 0 ;;
	1) former= ;;
	*) former=some ;;
esac

if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers dibs.conf
elif ! getent passwd dibs >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/dibs --no-create-home --shell /usr/sbin/nologin dibs
fi
[ -d /var/lib/dibs ] || install -d -m 0700 -o dibs -g dibs /var/lib/dibs

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# A server that runs gets the new version; one that was stopped stays so.
	[ -z "$former" ] || systemctl try-restart dibs.service
fi

if [ -z "$former" ]; then
	cat <<'END'

Dibs is installed. Make a first key, which is printed once, and start the server:

  runuser -u dibs -- dibs keys create admin --may all --in '*' --store sqlite:/var/lib/dibs/dibs.db
  systemctl enable --now dibs

It then serves http://127.0.0.1:8080, with the settings in /etc/dibs/dibs.toml.

END
fi
