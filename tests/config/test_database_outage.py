"""The database goes away and comes back, under a running service."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.conftest import Service
from tests.servers import PostgresServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    server = PostgresServer("outage")
    yield server
    server.stop()


@pytest.fixture
def service(server: PostgresServer, new_service: Callable[..., Service]) -> Service:
    service = new_service(DATABASE_URL=server.url(), RATE_LIMIT_CREDENTIAL="100000")
    service.manage("migrate", "-v0")
    return service.start()


def log_in(service: Service) -> httpx.Response:
    body = {"email": "nobody@example.com", "password": "wrong password"}
    return httpx.post(f"{service.url}/auth/login", json=body, timeout=10)


def fill_connections(service: Service) -> None:
    """Use every thread once, so that each has a connection to lose."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: log_in(service), range(8)))


def test_stopped_database_is_503_within_three_seconds_and_heals_within_two(
    service: Service, server: PostgresServer
) -> None:
    fill_connections(service)
    server.stop()

    begin = time.monotonic()
    answer, health = log_in(service), httpx.get(f"{service.url}/health", timeout=10)
    assert time.monotonic() - begin < 3
    assert (answer.status_code, answer.json()) == (503, {"error": "service unavailable"})
    assert (health.status_code, health.json()["status"]) == (503, "unavailable")

    server.start()
    time.sleep(1)  # the second that the look at the database is shared for
    answers = [log_in(service).status_code for _ in range(16)]
    assert 503 not in answers
    assert httpx.get(f"{service.url}/health").json()["status"] == "ok"


def test_restart_between_two_requests_is_not_noticed(
    service: Service, server: PostgresServer
) -> None:
    fill_connections(service)
    server.stop()
    server.start()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: log_in(service).status_code, range(24)))

    assert 503 not in answers


def test_hanging_database_is_503_within_three_seconds(
    service: Service, server: PostgresServer
) -> None:
    fill_connections(service)
    pids = [server.process.pid, *server.children()]
    for pid in pids:
        server.signal(pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        answer = log_in(service)
        assert time.monotonic() - begin < 3
    finally:
        for pid in pids:
            server.signal(pid, signal.SIGCONT)

    assert answer.status_code == 503
    assert log_in(service).status_code in {401, 429}
