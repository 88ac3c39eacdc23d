"""Operators see and clear what is counted in Sentinels' master and in a Cluster."""

import pytest

from tests.failover.store.conftest import CALLER, KINDS, remaining
from throttling import store

pytestmark = pytest.mark.failover


@pytest.mark.parametrize(("engine", "store_servers"), KINDS, indirect=True)
def test_operator_sees_and_clears_counts(store_servers, counted):
    remaining()

    assert store.look_up(CALLER) == {"credential": (1, 60)}
    store.clear(CALLER)
    assert store.look_up(CALLER) == {}
    assert all(f":{server.port}" in store.answers_from() for server in store_servers.masters)
