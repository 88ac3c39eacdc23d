"""nginx as deploy/nginx-check.conf says, and Caddy as docs/forward-auth.md says, before another
service, which they pass requests on to once GET /auth/check lets them."""

import hashlib
import http.client
import json
import os
import re
import subprocess
import threading
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import servers
from tests.deploy.conftest import nginx_command, replace_texts
from tests.requests import Answer

pytestmark = pytest.mark.deploy
NAMES = ["kind", "user", "key", "account", "role", "email", "scopes"]


class Other(BaseHTTPRequestHandler):
    """The other service: answers what headers it got, or fails."""

    def do_GET(self):
        body = json.dumps(self.headers.items()).encode()
        self.send_response(500 if self.path == "/fail" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def other():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def checking_nginx(folder, port, site, other):
    text = replace_texts(
        Path("deploy/nginx-check.conf").read_text("utf-8"),
        {
            "listen 443 ssl http2;": f"listen 127.0.0.1:{port};",
            "    ssl_certificate /etc/letsencrypt/live/reports.example.com/fullchain.pem;\n": "",
            "    ssl_certificate_key /etc/letsencrypt/live/reports.example.com/privkey.pem;\n": "",
            "/run/consulting/consulting.sock": site.sockets.path,
            "127.0.0.1:9000": f"127.0.0.1:{other}",
        },
    )
    return nginx_command(folder, text)


def checking_caddy(folder, port, site, other):
    guide = Path("docs/forward-auth.md").read_text("utf-8")
    text = replace_texts(
        re.search(r"## Caddy\n\n```\n(.*?)```", guide, re.S)[1],
        {
            "reports.example.com {": f"http://127.0.0.1:{port} {{",
            "127.0.0.1:8000": f"127.0.0.1:{site.sockets.port}",
            "127.0.0.1:9000": f"127.0.0.1:{other}",
        },
    )
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n}}\n{text}")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def ask_door(port, path="/", headers=None):
    """One request; the names of headers go as they are."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


@pytest.fixture(scope="module", params=[checking_nginx, checking_caddy], ids=["nginx", "caddy"])
def door(request, tmp_path_factory, shared_site, other):
    """Asks the proxy for a path, with these headers."""
    folder, port = tmp_path_factory.mktemp("door"), servers.free_port()
    command = request.param(folder, port, shared_site, other)
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | home, stdout=log, stderr=log)
    servers.wait_for_port(port)
    yield partial(ask_door, port)
    process.terminate()
    process.wait(60)


def make_key(site, scope):
    """A key's id, and the headers that carry it."""
    key = site.service.manage("createkey", "Reports", "--scope", scope).strip()
    digest = hashlib.sha256(key.encode()).hexdigest()
    [(pk,)] = site.service.query("SELECT id FROM accounts_apikey WHERE digest = %s", digest)
    return str(pk), {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def keys(shared_site):
    """One with the scope that the recipes ask for, and one without."""
    return [make_key(shared_site, scope) for scope in ("users:read", "events:read")]


def got(answer):
    """What the other service was told, by header; a name as CGI would have it."""
    assert answer.status == 200
    told = [(name.lower().replace("_", "-"), value) for name, value in answer.json()]
    return {name: value for name, value in told if name.startswith("x-auth-") and value}, told


def test_admin_passes_and_the_other_service_is_told_who_it_is(door, shared_site):
    headers, told = got(door(headers=shared_site.service.bearer()))

    assert headers["x-auth-kind"] == "user"
    assert (headers["x-auth-role"], headers["x-auth-email"]) == ("admin", "ada@example.com")
    told_names = ["kind", "user", "account", "role", "email"]
    assert headers.keys() == {f"x-auth-{name}" for name in told_names}
    assert not {"authorization", "cookie"} & {name for name, value in told if value}


def test_key_passes_with_its_scope_alone(door, keys):
    (pk, right), (_, wrong) = keys

    headers, _ = got(door(headers=right))

    assert headers == {"x-auth-kind": "key", "x-auth-key": pk, "x-auth-scopes": "users:read"}
    assert door(headers=wrong).status == 403


@pytest.mark.parametrize("value", [None, "Bearer nothing"])
def test_stranger_gets_one_challenge(door, value):
    answer = door(headers={"Authorization": value} if value else {})

    challenge = "Bearer" + (' error="invalid_token"' if value else "")
    assert (answer.status, answer.headers.get_all("WWW-Authenticate")) == (401, [challenge])


def test_what_the_client_says_of_itself_does_not_arrive(door, keys):
    lies = {f"X-Auth-{name.title()}": "admin" for name in NAMES}
    aliases = {name.replace("-", "_"): value for name, value in lies.items()}

    headers, told = got(door(headers=keys[0][1] | lies | aliases))

    assert "admin" not in headers.values()
    assert "admin" not in [value for name, value in told if "auth" in name]


@pytest.mark.parametrize("names", ["X-Auth-Scopes, x-auth-kind", "close, X-Auth-Key"])
def test_client_cannot_remove_what_the_other_service_is_told(door, keys, names):
    """A proxy drops the headers that `Connection` names (RFC 9110 §7.6.1), or refuses the call."""
    answer = door(headers=keys[0][1] | {"Connection": names})

    assert answer.status == 400 or len(got(answer)[0]) == 3


def test_own_error_of_the_other_service_passes(door, keys):
    answer = door("/fail", keys[0][1])

    assert answer.status == 500
    assert answer.json()


def test_used_up_limit_is_told_as_such(door, shared_site):
    pk, headers = make_key(shared_site, "users:read")
    counter = f"throttle:check:key:{pk}"
    servers.REDIS.client.set(counter, 10_000, ex=60)

    answer = door(headers=headers)

    assert answer.status == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 60


def test_without_an_answer_nobody_passes(door, shared_site, keys):
    shared_site.service.query("ALTER TABLE accounts_apikey RENAME TO away")
    try:
        status = door(headers=keys[0][1]).status
    finally:
        shared_site.service.query("ALTER TABLE away RENAME TO accounts_apikey")

    assert status in {500, 503}
