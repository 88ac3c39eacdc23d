#!/bin/sh
# Back up the database of DATABASE_URL into $DATA_DIR/backups, and keep two weeks and the newest fourteen: the clock may be
# wrong. A file named .dump is complete. Old ones go first, or a full disk would keep them.
set -eu
umask 077
folder="$DATA_DIR/backups"
mkdir -p "$folder"
dump="$folder/consulting-$(date +%F-%H%M%S).dump"
newest=$(find "$folder" -name 'consulting-*.dump' | sort | tail -n 14)
find "$folder" -name 'consulting-*' -mtime +14 | while read -r old; do
    case "$newest" in *"$old"*) ;; *) rm "$old" ;; esac
done
trap 'rm -f "$dump.part"' EXIT
pg_dump -Fc "$DATABASE_URL" -f "$dump.part"
mv "$dump.part" "$dump"
