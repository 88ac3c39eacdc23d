"""A Cluster's slot moves to another node, and the count goes on."""

from collections.abc import Iterator
from typing import Any

import pytest
from redis.crc import key_slot

from config import environment
from throttling import counter, store

pytestmark = pytest.mark.failover
CALLER = "203.0.113.9"
KEY = f"throttle:credential:{CALLER}".encode()


@pytest.fixture
def counted(cluster: Any, settings: Any) -> Iterator[None]:
    settings.REDIS_URL = cluster.url
    settings.REDIS_SERVERS = environment.redis_servers("REDIS_URL", cluster.url)
    counter.reset()
    counter.limiter.look()
    yield
    counter.limiter.store.topology.cluster.close()
    counter.limiter.store.lost()


def remaining() -> int:
    return counter.count("credential", CALLER, 10, strict=True).remaining


def test_count_goes_on_while_its_slot_moves(cluster: Any, counted: None) -> None:
    slot = key_slot(KEY)
    owner = slot * 3 // 16384
    source, target = cluster.clients[owner], cluster.clients[(owner + 1) % 3]
    here, there = cluster.ids[owner], cluster.ids[(owner + 1) % 3]
    assert remaining() == 9

    target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", here)
    source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", there)
    assert remaining() == 8
    port = cluster.servers[(owner + 1) % 3].port
    source.execute_command("MIGRATE", "127.0.0.1", port, KEY, 0, 1000)
    assert remaining() == 7  # -ASK
    for client in (target, source):
        client.execute_command("CLUSTER SETSLOT", slot, "NODE", there)
    assert remaining() == 6  # -MOVED
    counter.limiter.look()
    assert remaining() == 5
    assert counter.state() == "ok"


def test_operator_sees_and_clears_counts(cluster: Any, counted: None) -> None:
    remaining()

    assert store.look_up(CALLER) == {"credential": (1, 60)}
    store.clear(CALLER)
    assert store.look_up(CALLER) == {}
    assert all(f":{server.port}" in store.answers_from() for server in cluster.servers[:3])
