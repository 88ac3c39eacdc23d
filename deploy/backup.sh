#!/bin/sh
# Back up the database of DATABASE_URL into $DATA_DIR/backups, and keep two weeks. A file named .dump is complete.
set -eu
umask 077
folder="$DATA_DIR/backups"
mkdir -p "$folder"
dump="$folder/consulting-$(date +%F-%H%M%S).dump"
trap 'rm -f "$dump.part"' EXIT
pg_dump -Fc "$DATABASE_URL" -f "$dump.part"
mv "$dump.part" "$dump"
find "$folder" \( -name 'consulting-*.dump' -o -name 'consulting-*.part' \) -mtime +14 -delete
