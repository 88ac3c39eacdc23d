"""A master dies, or only hangs; another is elected, and counted on without a restart."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from tests.certificates import self_signed
from tests.failover.store.conftest import (
    FOUND,
    KINDS,
    LIMIT,
    LOST,
    Load,
    counts_exactly,
    has_found_it_again,
    let_through,
)
from tests.servers import wait_until
from throttling.limiter import limiter

pytestmark = pytest.mark.failover


def seconds_to_connect(servers):
    """What this machine takes now for what the two processes do first: eight connections each to
    the new master."""
    begin = time.monotonic()
    for _ in range(16):
        with servers.engine.client(servers.replica) as client:
            client.ping()
    return time.monotonic() - begin


def fail_over(service, servers, number):
    """Lose the master under load until the new one is counted on; gives what was answered."""
    with Load(service) as load:
        wait_until(lambda: load.answers)
        servers.master.process.send_signal(number)
        wait_until(lambda: service.log.count(LOST) >= 2)
        # Each process lets through its share; of a Cluster, other masters may count meanwhile.
        assert let_through(service, "192.0.2.1") <= 2 * LIMIT
        wait_until(servers.has_elected)
        elected = time.monotonic()
        wait_until(lambda: has_found_it_again(service))
        took = time.monotonic() - elected
        assert took < 5 * 2 + 2 * seconds_to_connect(servers)
    return load


@pytest.mark.parametrize(
    ("engine", "store_servers", "number"),
    [(*kind, number) for kind in KINDS for number in (signal.SIGKILL, signal.SIGSTOP)],
    indirect=["engine", "store_servers"],
)
def test_new_master_is_counted_on(two, store_servers, number):
    service = two(store_servers.url)
    assert counts_exactly(service, "198.51.100")
    with Load(service) as quiet:
        wait_until(lambda: len(quiet.answers) >= 100)
    usual = quiet.slowest()

    load = fail_over(service, store_servers, number)

    assert load.statuses() <= {400, 404, 429}
    assert load.slowest() < 5 * 0.3 + usual  # 0.3 s for the store, the rest is the machine's
    for third in range(9):  # of every master of a cluster
        assert counts_exactly(service, f"203.0.{third}")


@pytest.mark.parametrize(
    ("engine", "store_servers"), [("tls", "watched"), ("tls", "cluster")], indirect=True
)
def test_servers_of_an_unknown_authority_are_not_believed(two, engine, store_servers, tmp_path):
    unknown, _ = self_signed(tmp_path, engine.host)
    known = urlencode({"ssl_ca_certs": engine.certificate})
    service = two(store_servers.url.replace(known, urlencode({"ssl_ca_certs": unknown})))

    wait_until(lambda: let_through(service, "198.51.100.2") and service.log.count(LOST) == 2)
    assert 1 <= let_through(service, "198.51.100.1") <= LIMIT
    assert service.log.count(LOST) == 2
    assert FOUND not in service.log


def test_old_master_that_wakes_changes_nothing(two, watched):
    service = two(watched.url)
    fail_over(service, watched, signal.SIGSTOP)
    watched.master.process.send_signal(signal.SIGCONT)
    wait_until(lambda: watched.clients[0].sentinel_masters()["mymaster"]["num-slaves"] == 1)
    time.sleep(1)

    assert counts_exactly(service, "203.0.113")
    assert has_found_it_again(service)


@pytest.mark.parametrize(("engine", "store_servers"), [("plain", "cluster")], indirect=True)
def test_cluster_that_hangs_as_a_whole_delays_nobody_for_long(store_servers, counted):
    def seconds(number):
        begin = time.monotonic()
        limiter.count_request("credential", f"192.0.2.{number}", 10, strict=True)
        return time.monotonic() - begin

    with ThreadPoolExecutor(32) as threads:
        list(threads.map(seconds, range(64)))
        for server in store_servers.servers:
            server.process.send_signal(signal.SIGSTOP)
        waits = list(threads.map(seconds, range(64)))
        for server in store_servers.servers:
            server.process.send_signal(signal.SIGCONT)

    assert max(waits) < 5 * 0.25
    wait_until(lambda: limiter.redis_state() == "ok", 10)
