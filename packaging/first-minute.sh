#!/usr/bin/env bash
# first-minute.sh measures what a newcomer waits for, in seconds, on this machine as it is:
# from an archive to a confirmed name and the dashboard, and from a clone to the demo and to a
# server, with Go's modules downloaded and nothing compiled. It leaves nothing behind.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
server=
end() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap end EXIT

now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f s\n", to - from }'; }

# serve PROGRAM... runs a server until it has confirmed a name and delivered the dashboard.
serve() {
	rm -rf "$work/names"
	mkdir "$work/names"
	(cd "$work/names" && exec "$@" serve --listen 127.0.0.1:0 >"$work/log" 2>&1) &
	server=$!
	url=
	while [ -z "$url" ]; do
		kill -0 "$server" || { cat "$work/log"; exit 1; }
		url=$(sed -n 's,.*Dibs is at \(http://[0-9.:]*\)\,.*,\1,p' "$work/log")
		[ -n "$url" ] || sleep 0.05
	done
	call() { curl --silent --show-error --fail --header 'Content-Type: application/json' "$@"; }
	id=$(call "$url/v1/reservations" --data '{"namespace": "slug", "value": "Alice & Bob", "token": "a-random-secret-of-mine"}' |
		sed 's/.*"reservationId": *"\([^"]*\)".*/\1/')
	call "$url/v1/reservations/$id/confirm" --data '{"token": "a-random-secret-of-mine", "entity": {"type": "wedding", "id": "42"}}' |
		grep -q '"confirmed"'
	# As a browser does: the page, and the script that it names.
	script=$(call "$url/" --header 'Accept: text/html' | sed -n 's/.*src="\([^"]*\.js\)".*/\1/p' | head -n 1)
	[ -n "$script" ]
	[ "$(call --compressed "$url/${script#/}" | wc -c)" -gt 1000 ]
	kill "$server"
	wait "$server" || true
	server=
}

echo "building the archive's program, which is not measured"
(cd "$root" && CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags '-s -w' -o "$work/dibs" ./cmd/dibs)
from=$(now)
serve "$work/dibs"
echo "from the unpacked program to a confirmed name and the dashboard: $(since "$from")"

git clone --quiet "$root" "$work/clone"
cd "$work/clone"
export GOFLAGS=-buildvcs=false
for program in ./cmd/dibs-demo ./cmd/dibs; do
	export GOCACHE="$work/cache$program"
	from=$(now)
	times=$( { time -p go build -o "$work/built" "$program"; } 2>&1)
	case $program in
	*demo) "$work/built" >/dev/null ;;
	*) serve "$work/built" ;;
	esac
	echo "from a clone with an empty build cache, go run $program: $(since "$from"); of the processor:" \
		"$(echo "$times" | awk '/^(user|sys)/ { s += $2 } END { printf "%.0f s", s }')"
done
