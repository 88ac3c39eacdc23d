"""What nginx answers by itself: the service's JSON and the right status, whatever was sent."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.deploy.conftest import HOST, Nginx
from tests.servers import wait_until

pytestmark = pytest.mark.deploy

END = f"Host: {HOST}\r\nConnection: close\r\n\r\n"
UNAVAILABLE = (503, {"error": "service unavailable"})


@pytest.fixture(scope="module")
def lone_nginx(tmp_path_factory):
    """nginx with nobody behind it: what it answers otherwise than by 503 is its own."""
    folder = tmp_path_factory.mktemp("nginx")
    nginx = Nginx(folder, str(folder / "consulting.sock")).start()
    yield nginx
    nginx.stop()


def read(connection):
    """Status, headers and body; nginx may keep the connection open for the rest of a request."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, headers, answer.read().decode()


def send(nginx, text):
    with nginx.connect() as connection:
        connection.sendall(text.encode("latin-1"))
        return read(connection)


LOG_IN = "POST /auth/login HTTP/1.1\r\n"
LINES = {
    "long path": (f"GET /{'x' * 12_000} HTTP/1.1\r\n", 414, "request-uri too long"),
    "NUL in the path": ("GET /auth\0/me HTTP/1.1\r\n", 400, "bad request"),
    "broken escape": ("GET /%zz HTTP/1.1\r\n", 400, "bad request"),
    "out of the root": ("GET /../../etc/passwd HTTP/1.1\r\n", 400, "bad request"),
    "two slashes": ("GET //evil.test/login HTTP/1.1\r\n", 400, "bad request"),
    "no method": ("/health HTTP/1.1\r\n", 400, "bad request"),
    "TRACE": ("TRACE /health HTTP/1.1\r\n", 405, "method not allowed"),
    "unknown transfer coding": (f"{LOG_IN}Transfer-Encoding: gzip\r\n", 501, "not implemented"),
    "length and chunked": (
        f"{LOG_IN}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400, "bad request"
    ),
    "two hosts": ("GET /health HTTP/1.1\r\nHost: evil.example\r\n", 400, "bad request"),
    "long header": (
        f"{LOG_IN}X-Long: {'x' * 12_000}\r\n", 431, "request header fields too large"
    ),
    "large body": (f"{LOG_IN}Content-Length: 70000\r\n", 413, "request too large"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_http_1_refusal_is_the_services_json(lone_nginx, name):
    start, expected, error = LINES[name]

    status, headers, body = send(lone_nginx, start + END)

    assert (status, json.loads(body)) == (expected, {"error": error})
    assert headers["content-type"] == "application/json"
    assert (headers["cache-control"], len(headers["x-request-id"])) == ("no-store", 32)


def test_log_names_what_was_sent_without_its_query(lone_nginx):
    _, headers, _ = send(lone_nginx, f"TRACE /auth/%00?token=secret HTTP/1.1\r\n{END}")

    def logged():
        lines = lone_nginx.log_path.read_text().splitlines()
        return [line for line in lines if headers["x-request-id"] in line]

    [line] = wait_until(logged)  # it logs after it has answered
    assert " TRACE /auth/%00 400 " in line


def test_fragment_is_in_no_log(lone_nginx):
    """While the service is away, nginx has the most to say."""
    with (lone_nginx.folder / "maintenance").open("w"):
        lone_nginx.ask("GET", "/unlock%23token=secret")
    (lone_nginx.folder / "maintenance").unlink()
    for encoded in ("#", "%23", "%2523", "%252523"):
        for path in ("/unlock", "/sso", "/nowhere", "/metrics", "/auth/me?x=", "/%zz"):
            target = f"{path}{encoded}token=secret"
            send(lone_nginx, f"GET {target} HTTP/1.1\r\nReferer: https://{HOST}{target}\r\n{END}")
            send(lone_nginx, f"POST {target} HTTP/1.1\r\nContent-Length: 70000\r\n{END}")
    _, headers, _ = send(lone_nginx, f"GET/sso%23code=secret HTTP/1.1\r\n{END}")

    wait_until(lambda: headers["x-request-id"] in lone_nginx.log_path.read_text())
    assert " GET /unlock 503 " in lone_nginx.log_path.read_text()
    for name in ("access.log", "error.log"):
        assert "secret" not in (lone_nginx.folder / name).read_text()


def test_plain_http_on_the_tls_port_is_answered_in_json(lone_nginx):
    with socket.create_connection(("127.0.0.1", lone_nginx.port), timeout=10) as connection:
        connection.sendall(f"GET /health HTTP/1.1\r\n{END}".encode())
        status, _, body = read(connection)

    assert (status, json.loads(body)) == (400, {"error": "bad request"})


@contextmanager
def seconds():
    """How long the block took, once it is over."""
    taken = []
    begun = time.monotonic()
    yield taken
    taken.append(time.monotonic() - begun)


def health(nginx):
    answer = nginx.ask("GET", "/health")
    assert answer.headers["Retry-After"] == "5"
    return answer.status, answer.json()


def test_missing_service_is_503_at_once(lone_nginx):
    with seconds() as taken:
        assert health(lone_nginx) == UNAVAILABLE

    assert taken[0] < 2


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "HEAD"])
def test_own_path_of_nginx_is_nobodys(nginx, method):
    """Counted and answered by the service, as any path is that it does not know."""
    unknown = nginx.ask(method, "/nobody-knows", b"{}")
    own = nginx.ask(method, "/consulting-error?x=1", b"{}")

    assert own.status == 404
    assert own.body == unknown.body
    assert own.headers["Content-Type"] == "application/json"
    left = [int(answer.headers["x-ratelimit-remaining"]) for answer in (unknown, own)]
    assert left[1] == left[0] - 1


def test_hung_service_is_503_in_time(site):
    nginx, master = site.nginx, site.service.server.pid
    wait_until(lambda: len(children(master)) == 2)  # gunicorn forks them up to 0.1 s apart
    processes = [master, *children(master)]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)

    with seconds() as taken:
        assert health(nginx) == UNAVAILABLE
    for pid in processes:
        os.kill(pid, signal.SIGCONT)

    assert taken[0] < 5 * 4
    assert nginx.ask("GET", "/health").status == 200  # at once: nginx holds nothing against it


def children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_crash_loop_is_503_in_time(site):
    """gunicorn dies at each start, while the sockets are held."""
    nginx, service, sockets = site.nginx, site.service, site.sockets
    service.server.terminate()
    service.server.wait(60)
    broken = service.environment | {"WEB_THREADS": "many"}
    died = subprocess.run(
        [sys.executable, "-m", "gunicorn", "config.wsgi"], env=broken, check=False
    )

    with seconds() as taken:
        assert health(nginx) == UNAVAILABLE

    assert died.returncode
    assert taken[0] < 5 * 4
    sockets.serve(service)
    assert nginx.ask("GET", "/health").status == 200


def test_hundred_requests_at_a_time_are_one_addresss_share(nginx):
    """A hundred whose bodies are still to come; neighbours are served."""
    head = f"POST /auth/login HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n\r\n{{"
    with ExitStack() as opened:
        for _ in range(100):
            opened.enter_context(nginx.connect()).sendall(head.encode())
        wait_until(lambda: nginx.ask("GET", "/auth/me").status == 429)  # nginx has read them
        refused = nginx.ask("GET", "/auth/me")
        served = nginx.ask("GET", "/auth/me", address="127.0.0.2")

    assert (refused.status, refused.json()["error"]) == (429, "rate_limited")
    assert (refused.headers["Retry-After"], refused.headers["x-ratelimit-remaining"]) == ("1", "0")
    assert isinstance(refused.json()["message"], str)
    assert served.status == 401


def test_denied_address_is_told_in_json(tmp_path):
    nginx = Nginx(tmp_path, str(tmp_path / "consulting.sock"), "deny 127.0.0.2;").start()
    denied, page = (
        nginx.ask("GET", "/login", address=f"127.0.0.{n}", Accept="text/html") for n in (2, 1)
    )
    nginx.stop()

    assert (denied.status, denied.json()) == (403, {"error": "forbidden"})
    assert (page.status, page.headers["Content-Type"]) == (503, "text/html; charset=utf-8")
    assert b"The service is unavailable" in page.body


@pytest.mark.parametrize(
    ("caller", "neighbours", "statuses"),
    [
        (  # newline and NUL among the bytes
            "2001:ff00:a0a:a::{:x}",
            ["2001:ff00:a0a:a:ffff::1", "2001:ff00:a0a:b::1", "32.1.255.0"],
            [429, 503, 503],  # nobody is behind it
        ),
        (
            "64:ff9b::203.0.113.9",
            ["64:ff9b::203.0.113.9", "64:ff9b::203.0.113.10", "203.0.113.9"],
            [429, 503, 503],
        ),
    ],
    ids=["IPv6", "translated IPv4"],
)
def test_ipv6_caller_is_its_64_and_a_translated_one_itself(tmp_path, caller, neighbours, statuses):
    """A hundred connections of one caller, as a proxy before nginx tells it."""
    behind = "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;"
    nginx = Nginx(tmp_path, str(tmp_path / "consulting.sock"), behind).start()
    head = f"POST /auth/login HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\nX-Real-IP: "
    with ExitStack() as opened:
        for number in range(100):
            connection = opened.enter_context(nginx.connect())
            connection.sendall(f"{head}{caller.format(number)}\r\n\r\n{{".encode())
        wait_until(lambda: nginx.ask("GET", "/health", X_Real_IP=neighbours[0]).status == 429)
        answers = [nginx.ask("GET", "/health", X_Real_IP=neighbour) for neighbour in neighbours]
    nginx.stop()

    assert [answer.status for answer in answers] == statuses
