"""Requests that hash a password have threads of their own, and no others wait for them."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.urls import resolve

from config import gunicorn
from config.worker import SIGN_INS, SignInPool, is_sign_in
from signin import hashers
from tests import servers
from tests.conftest import Service
from tests.requests import ask

LOG_IN, OTHER = b"POST /auth/login HTTP/1.1\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n"


class Connection:
    """As gunicorn hands it to a thread, with what a client has sent."""

    def __init__(self, sent: bytes) -> None:
        self.sock, self.client = socket.socketpair()
        self.client.sendall(sent)

    def wait_for_data(self, timeout: float) -> bool:
        return True


@pytest.fixture
def connect() -> Iterator[Callable[[bytes], Connection]]:
    made: list[Connection] = []

    def make(sent: bytes) -> Connection:
        made.append(Connection(sent))
        return made[-1]

    yield make
    for connection in made:
        connection.sock.close()
        connection.client.close()


@pytest.fixture
def lanes() -> Iterator[SignInPool]:
    lanes = SignInPool(1, 1)
    yield lanes
    lanes.shutdown()


@pytest.mark.parametrize("path", sorted(SIGN_INS))
def test_paths_are_the_services_own(path: bytes) -> None:
    assert resolve(path.decode()).view_name != resolve("/unknown").view_name


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (LOG_IN, True),
        (b"POST /auth/login?next=/ HTTP/1.1\r\n", True),
        (b"POST /auth/login#x HTTP/1.1\r\n", True),
        (b"POST /auth/%6cog%69n?next=%2f HTTP/1.1\r\n", True),
        (b"POST /auth/%256cogin HTTP/1.1\r\n", False),
        (b"POST /auth/refresh HTTP/1.1\r\n", False),
        (b"GET /auth/login HTTP/1.1\r\n", False),
        (b"POST /auth/login/x HTTP/1.1\r\n", False),
        (b"POST /auth/lo", False),
        (b"\x16\x03\x01", False),
        (b"", False),
    ],
)
def test_first_line_tells(connect: Callable[[bytes], Connection], sent: bytes, expected: bool):
    assert is_sign_in(connect(sent).sock) is expected


@pytest.mark.parametrize("path", sorted(SIGN_INS))
def test_path_that_is_percent_encoded_throughout_counts(
    connect: Callable[[bytes], Connection], path: bytes
) -> None:
    encoded = b"".join(b"%%%02x" % byte for byte in path)

    assert is_sign_in(connect(b"POST " + encoded + b" HTTP/1.1\r\n").sock)
    assert not is_sign_in(connect(b"POST " + encoded + b"%41 HTTP/1.1\r\n").sock)


def test_first_line_stays_to_be_read(connect: Callable[[bytes], Connection]) -> None:
    connection = connect(LOG_IN)

    assert is_sign_in(connection.sock)
    assert connection.sock.recv(100) == LOG_IN


def test_closed_connection_is_no_sign_in(connect: Callable[[bytes], Connection]) -> None:
    connection = connect(b"")
    connection.client.close()

    assert not is_sign_in(connection.sock)


def test_crowd_at_the_log_in_holds_no_other_thread(
    lanes: SignInPool, connect: Callable[[bytes], Connection]
) -> None:
    released = threading.Event()
    crowd = [lanes.submit(lambda _: released.wait(10), connect(LOG_IN)) for _ in range(20)]

    other = lanes.submit(lambda _: "served", connect(OTHER))

    assert other.result(5) == "served"
    assert not any(log_in.done() for log_in in crowd)
    released.set()
    assert all(log_in.result(5) for log_in in crowd)


def test_time_in_the_queue_counts_as_waiting(
    lanes: SignInPool, connect: Callable[[bytes], Connection]
) -> None:
    begun = time.monotonic()

    since = lanes.submit(lambda _: hashers.waiting_since.get(), connect(LOG_IN)).result(5)
    other = lanes.submit(lambda _: hashers.waiting_since.get(), connect(OTHER)).result(5)

    assert begun <= since <= time.monotonic()
    assert other is None


@pytest.mark.parametrize("sent", [LOG_IN, OTHER])
def test_error_is_handed_back(
    lanes: SignInPool, connect: Callable[[bytes], Connection], sent: bytes
) -> None:
    def fail(_: Connection) -> None:
        raise OSError("gone")

    assert str(lanes.submit(fail, connect(sent)).exception(5)) == "gone"


@pytest.mark.parametrize("sockets", range(1, 6))
@pytest.mark.parametrize("processes", range(1, 6))
def test_sockets_are_shared_out_evenly(
    monkeypatch: pytest.MonkeyPatch, sockets: int, processes: int
) -> None:
    monkeypatch.setattr(gunicorn, "workers", processes)
    shares = [gunicorn.share(list(range(sockets)), number) for number in range(processes)]

    assert {sock for share in shares for sock in share} == set(range(sockets))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_gunicorn_listens_where_bind_says(new_service: Callable[..., Service]) -> None:
    service = new_service(BIND="127.0.0.2")
    server = service.spawn("-m", "gunicorn", "config.wsgi")
    servers.wait_for_port(service.port, host="127.0.0.2")

    answer = ask(f"http://127.0.0.2:{service.port}", "GET", "/health")

    assert (answer.status, server.poll()) == (200, None)
    with pytest.raises(ConnectionRefusedError):
        ask(service.url, "GET", "/health")


def test_gunicorn_answers_others_before_a_crowd_has_logged_in(
    new_service: Callable[..., Service],
) -> None:
    service = new_service(WEB_THREADS="2", RATE_LIMIT_CREDENTIAL="1000").start()
    body = {"email": "nobody@example.com", "password": "correct horse battery"}

    with ThreadPoolExecutor(40) as clients:
        crowd = [clients.submit(ask, service.url, "POST", "/auth/login", body) for _ in range(40)]
        assert crowd[0].result().status == 401
        health = [ask(service.url, "GET", "/health").status for _ in range(3)]
        waiting = [log_in for log_in in crowd if not log_in.done()]

    assert health == [200, 200, 200]
    assert waiting
    assert {log_in.result().status for log_in in crowd} <= {401, 429, 503}
