"""Stand-ins for the images that deploy/ names, on a machine that reaches no registry of images.

They have the users, folders and entry points of the real ones, and Debian's programs: they show
that the files fit together, not what a release of nginx does.
"""

import os
import subprocess

from tests.machines.machine import CERTIFICATES, PIP

INSTALL = "RUN apt-get install -qy --no-install-recommends"
BASE = """RUN apt-get update -q
ENV DEBIAN_FRONTEND=noninteractive
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
USER = "RUN useradd --system --user-group"

PYTHON = f"""
{INSTALL} python3 python3-venv
RUN ln -s /usr/bin/python3 /usr/local/bin/python
"""

NGINX = f"""
{USER} nginx
{INSTALL} nginx-light
COPY <<"X" /etc/nginx/nginx.conf
user nginx;
events {{}}
http {{ include /etc/nginx/mime.types; include /etc/nginx/conf.d/*.conf; }}
X
STOPSIGNAL SIGQUIT
CMD ["nginx", "-g", "daemon off;"]
"""

REDIS = f"""
{USER} redis
{INSTALL} redis-server
RUN install -d -o redis /data
WORKDIR /data
VOLUME /data
COPY <<"X" /entrypoint.sh
[ "$1" != redis-server ] || set -- setpriv --reuid redis --regid redis --clear-groups "$@"
exec "$@"
X
ENTRYPOINT ["sh", "/entrypoint.sh"]
CMD ["redis-server"]
"""

POSTGRES = f"""
{USER} postgres
COPY <<"X" /etc/postgresql-common/createcluster.conf
create_main_cluster = false
X
{INSTALL} postgresql
RUN ln -s /usr/lib/postgresql/* /usr/lib/postgresql/here
ENV LANG=C.UTF-8 PATH=/usr/lib/postgresql/here/bin:$PATH PGDATA=/var/lib/postgresql/data
VOLUME /var/lib/postgresql
COPY <<"X" /entrypoint.sh
set -eu
[ "$1" = postgres ] || exec "$@"
chown postgres: /var/lib/postgresql
as() {{ setpriv --reuid postgres --regid postgres --init-groups "$@"; }}
if [ ! -e "$PGDATA" ]; then
    as initdb --encoding UTF8 --auth-local trust --username "$POSTGRES_USER" \\
        --pwfile "$POSTGRES_PASSWORD_FILE" ${{POSTGRES_INITDB_ARGS-}}
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    as pg_ctl --wait --options "-c listen_addresses=" start
    as createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
    as pg_ctl --wait stop
fi
exec setpriv --reuid postgres --regid postgres --init-groups postgres -c listen_addresses=*
X
ENTRYPOINT ["sh", "/entrypoint.sh"]
CMD ["postgres"]
STOPSIGNAL SIGINT
"""

IMAGES = {
    "python:3.13-slim": PYTHON,
    "nginx:1.30.5": NGINX,
    "redis:8.2.6": REDIS,
    "postgres:18.6": POSTGRES,
}


def build_images(machine, archive):
    """Build all of them by the machine's own Docker, from the root of a fresh Debian."""
    with subprocess.Popen(["zstd", "-dc", str(archive)], stdout=subprocess.PIPE) as root:
        command = machine.command("docker", "import", "-", "debian:fresh")
        subprocess.run(command, stdin=root.stdout, check=True, capture_output=True)
    pip = "".join(f"ENV {name}={os.environ[name]}\n" for name in PIP if name in os.environ)
    machine.run(f"mkdir /images; cp {CERTIFICATES} /images/")
    base = f"FROM debian:fresh\nCOPY ca-certificates.crt {CERTIFICATES}\n{pip}{BASE}"
    for name, recipe in IMAGES.items():
        machine.write("/images/Dockerfile", base + recipe)
        machine.run(f"docker build --progress plain -t {name} /images")
