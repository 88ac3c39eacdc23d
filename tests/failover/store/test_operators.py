"""Operators see and clear what is counted in Sentinels' master and in a Cluster."""

import pytest

from tests.failover.store.conftest import CALLER, KINDS, remaining
from throttling.limiter import limiter

pytestmark = pytest.mark.failover


@pytest.mark.parametrize(("engine", "store_servers"), KINDS, indirect=True)
def test_operator_sees_and_clears_counts(store_servers, counted):
    remaining()

    assert limiter.look_up(CALLER) == {"credential": (1, 60)}
    limiter.clear(CALLER)
    assert limiter.look_up(CALLER) == {}
