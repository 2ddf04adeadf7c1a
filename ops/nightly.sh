#!/bin/sh
# The nightly job of a Dibs server: it backs an SQLite store up, verifies the store, and leaves
# the results where the node exporter of Prometheus finds them. The alerts DibsBackupOld and
# DibsVerify of ops/alerts.yaml use them. docs/operations.md says how to install it.
#
#   DIBS_STORE or DIBS_STORE_FILE   the store; only one of SQLite is backed up
#   DIBS_CONFIG                     its configuration
#   DIBS_BACKUPS                    where backups go; they stay for 14 days
#   DIBS_METRICS                    the folder of the node exporter's textfile collector
set -u
backups=${DIBS_BACKUPS:-/var/backups/dibs}
metrics=${DIBS_METRICS:-/var/lib/prometheus/node-exporter}

# Writes a metric as a whole: the exporter reads no half of it.
tell() {
	printf '%s %s\n' "$1" "$2" > "$metrics/$1.tmp" && chmod 644 "$metrics/$1.tmp" && mv "$metrics/$1.tmp" "$metrics/$1.prom"
}

failed=0
case ${DIBS_STORE:-} in
sqlite:*)
	if dibs backup "$backups/$(date +%F).db"; then
		tell dibs_backup_timestamp_seconds "$(date +%s)" || failed=1
		find "$backups" -name '*.db' -mtime +14 -delete
	else
		failed=1
	fi
	;;
esac

dibs verify --rate 20000 --show 20
verified=$?
tell dibs_verify_exit_code "$verified" || failed=1
tell dibs_verify_timestamp_seconds "$(date +%s)" || failed=1
[ "$verified" -eq 0 ] || exit "$verified"
exit "$failed"
