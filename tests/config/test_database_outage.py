"""The database goes away and comes back, under a running service."""

import contextlib
import re
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError
from django.db import connection as default_connection

from config.postgresql.base import Connection
from config.postgresql.breaker import Breaker, breaker
from tests.conftest import Service, query
from tests.requests import ask
from tests.servers import PostgresServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = PostgresServer("outage")
    Service(tmp_path_factory.mktemp("migrate"), DATABASE_URL=server.url()).manage("migrate", "-v0")
    yield server
    server.stop()


@pytest.fixture
def service(server, new_service):
    return new_service(
        DATABASE_URL=server.url(),
        RATE_LIMIT_CREDENTIAL="100000",
        RATE_LIMIT_PUBLIC="100000",
    ).start()


def log_in(service):
    body = {"email": f"{uuid.uuid4().hex}@example.com", "password": "wrong password"}
    return ask(service.url, "POST", "/auth/login", body)


def fill_connections(service):
    """Use every thread once, so that each has a connection to lose."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: log_in(service), range(8)))


def test_stopped_database_is_503_within_three_seconds_and_heals_within_two(service, server):
    fill_connections(service)
    server.stop()

    begin = time.monotonic()
    answer, health = log_in(service), ask(service.url, "GET", "/health")
    assert time.monotonic() - begin < 3
    assert (answer.status, answer.json()) == (503, {"error": "service unavailable"})
    assert (health.status, health.json()["status"]) == (503, "unavailable")

    server.start()
    time.sleep(1)  # the second that the look at the database is shared for
    answers = [log_in(service).status for _ in range(16)]
    assert 503 not in answers
    assert ask(service.url, "GET", "/health").json()["database"] == "ok"


def test_restart_between_two_requests_is_not_noticed(service, server):
    fill_connections(service)
    server.stop()
    server.start()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: log_in(service).status, range(24)))

    assert 503 not in answers


@contextlib.contextmanager
def stopped(server):
    """All of the server's processes stand still; the kernel goes on to accept connections."""
    pids = [server.process.pid, *server.children()]
    for pid in pids:
        server.signal(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            server.signal(pid, signal.SIGCONT)


def hammer(service, seconds):
    """What 12 clients are told meanwhile: by path, each answer's status and seconds."""
    answers = {"login": [], "jwks": [], "health": []}
    end = time.monotonic() + seconds

    def call(number):
        path = list(answers)[number % 3]
        calls = {
            "login": lambda: log_in(service),
            "jwks": lambda: ask(service.url, "GET", "/.well-known/jwks.json"),
            "health": lambda: ask(service.url, "GET", "/health"),
        }
        while (begin := time.monotonic()) < end:
            status = calls[path]().status
            answers[path].append((status, time.monotonic() - begin))
            time.sleep(0.05)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(call, range(12)))
    return answers


def assert_said_at_once(answers):
    """Nobody waited longer than the first ones had to, and what needs no database was served."""
    assert {status for status, _ in answers["login"]} == {503}
    assert {status for status, _ in answers["jwks"]} == {200}
    assert [status for status, _ in answers["health"]].count(503) > 10
    waits = [wait for path in answers.values() for _, wait in path]
    assert max(waits) < 4
    assert len(waits) > 150  # 8 threads that give up after 2 s each would have said 24 times 503


def assert_heals(service, seconds=2.0):
    deadline = time.monotonic() + seconds
    while log_in(service).status == 503:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1)  # the second that the look at the database is shared for
    assert ask(service.url, "GET", "/health").json()["database"] == "ok"


def lines(service, *words):
    return [line for line in service.log.splitlines() if any(word in line for word in words)]


def test_hanging_database_is_said_at_once_and_told_in_two_lines(service, server):
    fill_connections(service)
    with stopped(server):
        answers = hammer(service, 6)

    assert_said_at_once(answers)
    assert_heals(service)
    lost, back = lines(service, " ERROR ", " WARNING ")
    assert re.search("the database is lost: (no answer within 2 s|connection timeout)", lost)
    assert "the database answers again seconds=" in back
    assert int(back.partition("refused=")[2]) > 50


def test_locked_table_is_said_at_once_and_leaves_no_query_behind(service, server):
    fill_connections(service)
    with psycopg.connect(server.url()) as locker:
        locker.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
        answers = hammer(service, 6)
        [(connections, running)] = query(
            server.url(),
            "SELECT count(*), count(*) FILTER (WHERE query_start < now() - interval '3.5 s'"
            " AND state <> 'idle') FROM pg_stat_activity WHERE application_name = 'consulting'",
        )

    assert_said_at_once(answers)
    assert connections <= 9  # a thread's each, and the breaker's
    assert running == 0
    assert_heals(service)


def test_driver_says_why_but_no_password(server, new_service):
    url = server.url().replace("postgres@", "postgres:hunter2secret@")
    service = new_service(DATABASE_URL=url).start()
    server.stop()
    try:
        assert log_in(service).status == 503
    finally:
        server.start()

    [lost] = lines(service, " ERROR ")
    assert "the database is lost: connection failed" in lost
    assert f"port {server.port} failed: Connection refused" in lost
    assert "hunter2secret" not in service.log


def threads_of(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


@pytest.mark.parametrize("lose", [PostgresServer.stop, stopped])
def test_start_without_a_database_forks_no_thread(
    server,
    new_service,
    lose,
):
    service = new_service(DATABASE_URL=server.url())
    with lose(server) or contextlib.nullcontext():
        service.start()
        assert "the signing keys cannot be read yet" in service.log
        assert threads_of(service.server.pid) == 1
        assert log_in(service).status == 503
    if server.process.poll() is not None:
        server.start()

    assert_heals(service)


DISK_IS_FULL = """
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END$$;
    CREATE TRIGGER fail BEFORE INSERT ON throttling_lockout EXECUTE FUNCTION fail();
"""


def test_full_disk_is_503_to_who_writes_and_no_lost_database(new_database, new_service):
    url = new_database()
    service = new_service(DATABASE_URL=url).start()
    query(url, DISK_IS_FULL)

    answers = [log_in(service).status for _ in range(5)]
    health = ask(service.url, "GET", "/health")

    assert answers == [503] * 5
    assert (health.status, health.json()["database"]) == (200, "ok")
    assert health.json()["status"] == "degraded"
    assert "could not extend file" in service.log
    assert "the database is lost" not in service.log


def test_health_forgets_a_failed_write_after_a_minute(monkeypatch):
    fresh = Breaker()
    assert fresh.writes()
    fresh.write_failed()
    assert not fresh.writes()

    monkeypatch.setattr(fresh, "write_failed_at", time.monotonic() - 61)
    assert fresh.writes()


def test_read_only_server_is_503_until_it_is_writable(service, server):
    fill_connections(service)
    server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    server.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)
    answers = {log_in(service).status for _ in range(9)}
    server.execute("ALTER SYSTEM RESET default_transaction_read_only")
    server.execute("SELECT pg_reload_conf()")

    assert answers == {503}
    assert_heals(service)


@pytest.mark.django_db
def test_one_slow_query_is_cancelled_and_loses_no_database(monkeypatch):
    monkeypatch.setattr(Connection, "patience", 0.3)
    fresh, openings = default_connection.copy(), breaker.openings
    fresh.set_autocommit(False)
    with fresh.cursor() as cursor, pytest.raises(OperationalError, match="query cancelled"):
        cursor.execute("SELECT pg_sleep(1234)")
    with contextlib.suppress(OperationalError):
        fresh.rollback()
    fresh.close()

    assert breaker.openings == openings
    time.sleep(0.2)  # the server's time to end it
    with default_connection.cursor() as cursor:
        cursor.execute("SELECT query FROM pg_stat_activity WHERE state = 'active'")
        assert [query for (query,) in cursor.fetchall() if "pg_sleep" in query] == []


def seconds_of(connection, statement):
    begin = time.monotonic()
    with connection.cursor() as cursor, contextlib.suppress(OperationalError):
        cursor.execute(statement)
    return time.monotonic() - begin


@pytest.mark.django_db
def test_slow_queries_of_a_request_share_its_patience(monkeypatch):
    monkeypatch.setattr(Connection, "patience", 1.0)
    fresh = default_connection.copy()
    for _ in range(2):  # requests
        assert seconds_of(fresh, "SELECT pg_sleep(0.7)") > 0.7
        assert fresh.is_usable()
    assert seconds_of(fresh, "SELECT pg_sleep(0.7)") > 0.7

    assert seconds_of(fresh, "SELECT pg_sleep(5)") < 0.7
    fresh.close()
    breaker.reset()


def timeouts(connection):
    names = ("statement_timeout", "idle_in_transaction_session_timeout")
    with connection.cursor() as cursor:
        return [cursor.execute(f"SHOW {name}").fetchone()[0] for name in names]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("patience", "pooled", "expected"),
    [(None, False, ["0", "0"]), (2.0, False, ["3s", "10s"]), (2.0, True, ["0", "0"])],
)
def test_only_the_web_servers_own_connections_have_timeouts(
    monkeypatch, patience, pooled, expected
):
    monkeypatch.setattr(Connection, "patience", patience)
    fresh = default_connection.copy()
    fresh.settings_dict = fresh.settings_dict | {"DISABLE_SERVER_SIDE_CURSORS": pooled}

    assert timeouts(fresh) == expected
    fresh.close()
