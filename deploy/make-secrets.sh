#!/bin/sh
# Make the secrets of compose.yaml in a folder: `make-secrets.sh FOLDER`. What is there stays as it is.
# The folder has mode 0700, so the files may be readable: each container sees its own.
set -eu
chmod 0700 "$1"
cd "$1"

random() {
    head -c 36 /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

write() {
    [ -e "$1" ] || { echo "$2" > "$1.part" && chmod 0444 "$1.part" && mv "$1.part" "$1"; }
}

write secret_key "$(random)"
write metrics_token "$(random)"
write postgres_password "$(random)"
write database_url "postgres://consulting:$(cat postgres_password)@postgres:5432/consulting"
write service_password "$(random)"
write service_url "postgres://consulting_service:$(cat service_password)@postgres:5432/consulting"
write redis_conf "requirepass $(random)"
write redis_url "redis://:$(cut -d ' ' -f 2 redis_conf)@redis:6379/0"
