"""A Cluster's slot moves to another node, and the count goes on."""

import pytest
from redis.crc import key_slot

from tests.failover.store.conftest import CALLER, remaining
from throttling.limiter import limiter

pytestmark = pytest.mark.failover
KEY = f"throttle:credential:{CALLER}".encode()


@pytest.mark.parametrize(
    ("engine", "store_servers"), [("plain", "cluster"), ("tls", "cluster")], indirect=True
)
def test_count_goes_on_while_its_slot_moves(cluster, counted):
    slot = key_slot(KEY)
    owner = slot * 3 // 16384
    source, target = cluster.clients[owner], cluster.clients[(owner + 1) % 3]
    here, there = cluster.ids[owner], cluster.ids[(owner + 1) % 3]
    assert remaining() == 9

    target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", here)
    source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", there)
    assert remaining() == 8
    port = cluster.servers[(owner + 1) % 3].port
    source.execute_command("MIGRATE", "127.0.0.1", port, KEY, 0, 1000, "AUTH", "secret")
    assert remaining() == 7  # -ASK
    for client in (target, source):
        client.execute_command("CLUSTER SETSLOT", slot, "NODE", there)
    assert remaining() == 6  # -MOVED
    assert limiter.redis_state() == "ok"
