"""nginx as deploy/nginx.conf says, but for ports, paths and certificate, before two processes."""

import http.client
import os
import socket
import ssl
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from cryptography import x509

from tests import servers
from tests.certificates import self_signed
from tests.requests import ask, send
from tests.services import Service

HOST = "api.example.com"


def replace_texts(text, changes):
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx_command(folder, http):
    """What starts nginx with these directives of its `http` block, all of its files in a folder."""
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; events {{}}\n"
        f"http {{ {temporary} access_log off; {http} }}\n"
    )
    return ["nginx", "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]


class Sockets:
    """What consulting.socket does: nginx's socket, and a port for the tests' direct requests, which
    listen and are handed to each start of gunicorn."""

    def __init__(self, folder):
        self.path, self.port = str(folder / "consulting.sock"), servers.free_port()
        self.listeners = [
            socket.create_server(self.path, family=socket.AF_UNIX, backlog=2048),
            socket.create_server(("127.0.0.1", self.port), backlog=2048),
        ]

    def serve(self, service, application="config.wsgi"):
        """gunicorn with the sockets as file descriptors 3 and 4, as sd_listen_fds(3) wants it."""
        first, second = (listener.fileno() for listener in self.listeners)
        # Out of the way first: a descriptor may be 3 or 4 already.
        script = f"exec 8<&{first} 9<&{second}; exec 3<&8 4<&9 8<&- 9<&-; "
        script += 'export LISTEN_FDS=2 LISTEN_PID=$$; exec "$@"'
        with service.log_path.open("ab") as log:
            service.server = subprocess.Popen(
                ["bash", "-c", script, "-", sys.executable, "-m", "gunicorn", application],
                env=service.environment,
                pass_fds=[first, second],
                stdout=log,
                stderr=log,
            )
        service.processes.append(service.server)
        ask(service.url, "GET", "/health")
        return service.server

    def close(self):
        for listener in self.listeners:
            listener.close()


class Nginx:
    """One nginx in front of one service; `ask` is a client of a loopback address.

    `before` stands in its configuration before the site's, in which texts are replaced as
    `changes` says.
    """

    def __init__(self, folder, upstream, before="", changes=None):
        folder.mkdir(exist_ok=True)
        self.port, self.http_port = servers.free_port(), servers.free_port()
        self.folder, self.log_path = folder, folder / "access.log"
        self.certificate, key = self_signed(folder, x509.DNSName(HOST))
        site = Path("deploy/nginx.conf").read_text(encoding="utf-8")
        changes = (changes or {}) | {
            "    listen [::]:80;\n": "",
            "    listen [::]:443 ssl http2;\n": "",
            "listen 80;": f"listen 127.0.0.1:{self.http_port};",
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "/run/consulting/consulting.sock": upstream,
            "/run/consulting/maintenance": str(folder / "maintenance"),
            "/var/www/html": str(folder / "www"),
            f"/etc/letsencrypt/live/{HOST}/fullchain.pem": str(self.certificate),
            f"/etc/letsencrypt/live/{HOST}/privkey.pem": str(key),
            "/var/log/nginx/consulting.log": str(self.log_path),
            "/var/log/nginx/error.log": str(folder / "error.log"),
        }
        (folder / "site.conf").write_text(replace_texts(site, changes))
        self.command = nginx_command(folder, f"{before} include {folder}/site.conf;")

    def start(self):
        self.process = subprocess.Popen(self.command)
        servers.wait_for_port(self.port)
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def connect(self, address="127.0.0.1", protocol="http/1.1"):
        """A TLS connection from this address to HOST, which is this nginx."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        context.set_alpn_protocols([protocol])
        there = ("127.0.0.1", self.port)
        plain = socket.create_connection(there, timeout=10, source_address=(address, 0))
        return context.wrap_socket(plain, server_hostname=HOST)

    def ask(self, method, path, body=None, address="127.0.0.1", **headers):
        """One request to HOST over HTTPS, from this address; the rest as in `tests.requests`."""
        with closing(http.client.HTTPConnection(HOST)) as connection:
            connection.sock = self.connect(address)
            return send(connection, method, path, body, **headers)


class Site:
    """nginx in front of two processes of two threads each, with Ada as their operator."""

    def __init__(self, folder, database):
        self.sockets = Sockets(folder)
        self.name_server = socket.socket(type=socket.SOCK_DGRAM)  # never answers
        self.name_server.bind(("127.0.0.1", 0))
        self.service = Service(
            folder,
            DATABASE_URL=database,
            PORT=str(self.sockets.port),
            REDIS_URL=servers.REDIS.url,
            ALLOWED_HOSTS=f"{HOST},127.0.0.1",
            TRUSTED_PROXY_COUNT="1",
            COOKIE_SECURE="true",
            FRONTEND_URL="https://app.example.com",
            WEB_CONCURRENCY="2",
            WEB_THREADS="2",
            METRICS_TOKEN="what Prometheus brings",
            DNS_SERVERS=f"127.0.0.1:{self.name_server.getsockname()[1]}",
        )
        self.service.port = self.sockets.port
        self.service.url = f"http://127.0.0.1:{self.sockets.port}"
        self.service.add_operator()
        self.sockets.serve(self.service)
        self.nginx = Nginx(folder, self.sockets.path).start()

    def close(self):
        self.nginx.stop()
        self.service.stop()
        self.sockets.close()
        self.name_server.close()


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory, migrated_template):
    name = "shared_site"
    servers.POSTGRES.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    site = Site(tmp_path_factory.mktemp(name), servers.POSTGRES.url(name))
    yield site
    site.close()


@pytest.fixture
def nginx(shared_site):
    """For tests that leave everything running."""
    return shared_site.nginx


@pytest.fixture
def site(tmp_path, new_database):
    """For tests that stop something of it."""
    site = Site(tmp_path, new_database())
    yield site
    site.close()
