"""Outages of the database while the service runs: 503 within 4 s, and recovery within 5 s."""

import contextlib
import os
import resource
import signal
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, wait

import psycopg
import pytest
from django.db import connection

from tests.requests import ask
from tests.servers import PostgresServer, wait_until
from tests.services import Service, query

pytestmark = pytest.mark.live

CLIENTS = 12
IN_TIME = 5 * 4  # seconds: four are promised, and a busy machine is no outage
FEW = 4  # who log in, so that on a busy machine none waits for a hash longer than it may


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = PostgresServer("outage")
    Service(tmp_path_factory.mktemp("migrate"), DATABASE_URL=server.url()).manage("migrate", "-v0")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def make_service(server, new_shared_service):
    def make(**environment):
        url = server.url().replace("postgres@", "postgres:hunter2secret@")
        environment = {"DATABASE_URL": url} | environment
        limits = ("RATE_LIMIT_CREDENTIAL", "RATE_LIMIT_PUBLIC", "RATE_LIMIT_AUTHENTICATED")
        return new_shared_service(**dict.fromkeys(limits, "100000"), **environment).start()

    return make


@pytest.fixture(scope="module")
def service(make_service):
    """One for the tests, each of which leaves it serving."""
    return make_service()


@pytest.fixture(scope="module")
def me(service):
    return sign_in(service)


def log_in(service):
    body = {"email": f"{uuid.uuid4().hex}@example.com", "password": "wrong password"}
    return ask(service.url, "POST", "/auth/login", body)


def sign_in(service):
    """Calls /auth/me as a user of the service."""
    email = f"{uuid.uuid4().hex}@example.com"
    service.add_operator(email)
    bearer = service.bearer(email)
    return lambda: ask(service.url, "GET", "/auth/me", **bearer)


def hammer(call, seconds, clients=CLIENTS):
    """The status and seconds of each answer that these clients get meanwhile."""
    answers, end = [], time.monotonic() + seconds

    def repeat(_):
        while (begun := time.monotonic()) < end:
            status = call().status
            answers.append((status, time.monotonic() - begun))
            time.sleep(0.05)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(repeat, range(clients)))
    return answers


def statuses(answers):
    return {status for status, _ in answers}


def longest(answers):
    return max(seconds for _, seconds in answers)


def assert_heals(call, clients=CLIENTS):
    """Assert that the service recovers in time, and stays available."""
    wait_until(lambda: call().status != 503, 5 * 5)
    assert 503 not in statuses(hammer(call, 1, clients))


def test_stopped_database_is_503_in_time_and_heals(service, me, server):
    """The pool waits longer and longer between its attempts, but for no longer than promised."""
    hammer(me, 0.5)
    server.stop()
    answers = hammer(me, 12)
    health = ask(service.url, "GET", "/health")
    refused = log_in(service)
    server.start()

    assert statuses(answers) == {503}
    assert longest(answers) < IN_TIME
    assert (health.status, health.json()["status"]) == (503, "unavailable")
    assert refused.json() == {"error": "service unavailable"}
    assert_heals(me)
    assert ask(service.url, "GET", "/health").status == 200
    assert f"port {server.port} failed: Connection refused" in service.log
    assert "hunter2secret" not in service.log


def test_unreachable_database_is_503_in_time_and_heals(me, server):
    """The host accepts nothing: some connections wait forever, others' packets are dropped."""
    server.stop()
    with socket.create_server(("127.0.0.1", server.port), backlog=1):
        answers = hammer(me, 5)
    server.start()

    assert statuses(answers) == {503}
    assert longest(answers) < IN_TIME
    assert_heals(me)


def test_restart_between_two_requests_is_not_noticed(me, server):
    hammer(me, 0.5)
    server.stop()
    server.start()

    assert statuses(hammer(me, 2)) == {200}


def test_service_recovers_from_a_hung_database(me, server):
    """The server is stopped while its host accepts connections: queries wait until it goes on."""
    hammer(me, 0.5)
    processes = [server.process.pid, *server.children()]
    with ThreadPoolExecutor(CLIENTS) as clients:
        try:
            for pid in processes:
                server.signal(pid, signal.SIGSTOP)
            calls = [clients.submit(me) for _ in range(CLIENTS)]
            _, waiting = wait(calls, 4)  # for longer than a statement may take
        finally:
            for pid in processes:
                server.signal(pid, signal.SIGCONT)

    assert waiting
    assert {call.result().status for call in calls} <= {200, 503}
    assert_heals(me)


def test_service_started_without_a_database_recovers(server, make_service):
    server.stop()
    try:
        service = make_service()
        assert log_in(service).status == 503
    finally:
        server.start()

    assert_heals(lambda: log_in(service), FEW)
    service.stop()


def test_locked_audit_table_leaves_other_calls_working(service, me, server):
    with psycopg.connect(server.url()) as locker, ThreadPoolExecutor(1) as clients:
        locker.execute("LOCK TABLE audit_record IN ACCESS EXCLUSIVE MODE")
        log_ins = clients.submit(hammer, lambda: log_in(service), 6)
        wait_until(lambda: query(server.url(), "SELECT 1 FROM pg_locks WHERE NOT granted"))
        answers = hammer(me, 4)

    assert statuses(answers) == {200}
    assert statuses(log_ins.result()) == {503}
    assert longest(log_ins.result()) < IN_TIME
    assert_heals(lambda: log_in(service), FEW)


def test_locked_table_is_503_in_time_and_leaves_no_query_behind(me, server):
    with psycopg.connect(server.url()) as locker:
        locker.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
        answers = hammer(me, 5)
        connections = "FROM pg_stat_activity WHERE application_name = 'consulting'"
        waiting = f"SELECT 1 {connections} AND wait_event_type = 'Lock'"
        wait_until(lambda: not query(server.url(), waiting))
        [(taken,)] = query(server.url(), f"SELECT count(*) {connections}")

    assert statuses(answers) == {503}
    assert longest(answers) < IN_TIME
    assert taken <= 8  # the pool's, the thread of the keys included
    assert_heals(me)


def test_too_few_connections_cost_a_few_requests(server, make_service):
    """Each of two processes may open eight connections, and the server has three fewer."""
    query(server.url(), "CREATE ROLE narrow LOGIN CONNECTION LIMIT 13 IN ROLE pg_read_all_data")
    query(server.url(), "GRANT ALL ON ALL TABLES IN SCHEMA public TO narrow")
    service = make_service(
        DATABASE_URL=server.url().replace("postgres@", "narrow@"), WEB_CONCURRENCY="2"
    )
    me = sign_in(service)
    answers = hammer(me, 3)
    service.stop()

    assert [status for status, _ in answers].count(200) > 0.8 * len(answers)


def test_read_only_server_is_503_for_calls_that_write_until_it_is_writable(service, server):
    hammer(lambda: log_in(service), 0.5, FEW)
    server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    server.execute("SELECT pg_reload_conf()")
    wait_until(lambda: log_in(service).status == 503)
    answers = {log_in(service).status for _ in range(3)}
    server.execute("ALTER SYSTEM RESET default_transaction_read_only")
    server.execute("SELECT pg_reload_conf()")

    assert answers == {503}
    assert_heals(lambda: log_in(service), FEW)


def test_only_requests_have_timeouts(service):
    code = "from django.db import connection as c; k = c.cursor(); "
    code += "print(k.execute('SHOW statement_timeout').fetchone()[0])"

    assert service.manage("shell", "--no-imports", "-c", code).strip() == "0"


def test_connection_is_usable_whatever_the_number_of_its_socket(db):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, limits[1]))
    late = connection.copy()
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        for _ in range(1100):
            cleanup.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        cleanup.callback(late.close)
        late.ensure_connection()

        assert late.connection.fileno() > 1023
        assert late.is_usable()
