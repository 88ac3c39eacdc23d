"""The primary dies, or hangs, under a service that writes; its standby is promoted."""

import signal
import time

import pytest

from tests.failover.conftest import writers_of
from tests.servers import PostgresServer, wait_until
from tests.services import query

pytestmark = pytest.mark.failover


@pytest.fixture
def primary():
    server = PostgresServer(f"primary{time.monotonic_ns()}")
    yield server
    server.stop()


@pytest.fixture
def standby(primary):
    """A synchronous one: what has been answered is there."""
    server = PostgresServer(f"{primary.data.name}-standby", primary)
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.execute("SELECT pg_reload_conf()")
    yield server
    server.stop()


@pytest.fixture
def writers(primary, standby, tmp_path):
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    writers = writers_of(tmp_path, f"postgres://postgres@{hosts}/postgres")
    yield writers
    writers.service.stop()


def assert_nothing_lost(writers, server):
    """All that was answered 201 is there, and nothing by halves."""
    [(invitations, mails)] = query(
        server.url(),
        "SELECT (SELECT array_agg(id::text) FROM invitations_invitation),"
        " (SELECT count(*) FROM mail_outgoingmail)",
    )
    assert set(writers.invited) <= set(invitations)
    assert mails == len(invitations)


def test_primary_dies_and_the_standby_takes_over(primary, standby, writers):
    with writers.at_work():
        writers.wait_for_success(time.monotonic(), 60)
        primary.process.send_signal(signal.SIGQUIT)
        time.sleep(2)
        standby.execute("SELECT pg_promote()")
        writers.wait_for_success(time.monotonic(), 5 * 5)
        time.sleep(1)

    assert writers.statuses() == {201, 503}
    assert writers.longest_wait() < 5 * 4
    assert_nothing_lost(writers, standby)


def test_read_only_server_alone_is_503(primary, standby, writers):
    primary.process.send_signal(signal.SIGQUIT)
    primary.process.wait()

    assert {writers.write() for _ in range(9)} == {503}
    wait_until(lambda: "session is read-only" in writers.service.log)
