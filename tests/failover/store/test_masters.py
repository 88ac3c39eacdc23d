"""A master dies, or only hangs; another is elected, and counted on without a restart."""

import signal
import time
from typing import Any

import pytest

from tests.conftest import Service
from tests.failover.store.conftest import FOUND, LIMIT, LOST, Load, let_through, until

pytestmark = pytest.mark.failover


def fail_over(service: Service, servers: Any, number: signal.Signals) -> Load:
    """Lose the master under load until the new one is counted on; gives what was answered."""
    with Load(service) as load:
        time.sleep(0.3)
        servers.master.process.send_signal(number)
        until(lambda: service.log.count(LOST) >= 2)
        assert let_through(service, "192.0.2.1") <= LIMIT  # each process its share
        until(servers.has_elected)
        until(lambda: service.log.count(FOUND) == service.log.count(LOST), 2)
    return load


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("kind", ["watched", "cluster"])
def test_new_master_is_counted_on(
    two: Any, request: pytest.FixtureRequest, kind: str, number: signal.Signals
) -> None:
    servers = request.getfixturevalue(kind)
    service = two(servers.url)
    assert let_through(service, "198.51.100.1") == LIMIT

    load = fail_over(service, servers, number)

    assert load.statuses() <= {400, 404, 429}
    assert load.slowest() < 0.5  # 0.1 s for the store; elections and calls share two processors
    for address in range(9):  # of every master of a cluster
        assert let_through(service, f"203.0.113.{address}") == LIMIT


def test_old_master_that_wakes_changes_nothing(two: Any, watched: Any) -> None:
    service = two(watched.url)
    fail_over(service, watched, signal.SIGSTOP)
    watched.master.process.send_signal(signal.SIGCONT)
    until(lambda: watched.clients[0].sentinel_masters()["mymaster"]["num-slaves"] == 1)
    time.sleep(1)

    assert let_through(service, "203.0.113.1") == LIMIT
    assert service.log.count(FOUND) == service.log.count(LOST)
