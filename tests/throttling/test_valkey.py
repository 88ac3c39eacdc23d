"""Valkey serves as the limiter's store as Redis does."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.servers import VALKEY, RedisServer
from tests.throttling.conftest import use_store
from throttling import store
from throttling.counter import limiter


@pytest.fixture
def valkey(settings):
    server = RedisServer(program=VALKEY)
    use_store(settings, server.url)
    yield server
    server.stop()


def count(limit=10):
    return limiter.count("credential", "203.0.113.9", limit, strict=True)


def test_it_counts_exactly(valkey):
    with ThreadPoolExecutor(8) as threads:
        decisions = list(threads.map(lambda _: count(), range(40)))

    assert sum(decision.allowed for decision in decisions) == 10
    assert valkey.client.info("server")["server_name"] == "valkey"


def test_forgotten_script_is_no_error(valkey):
    count()
    valkey.client.script_flush()

    assert count().remaining == 8
    assert limiter.state() == "ok"


def test_counts_are_shown_and_cleared(valkey):
    count()
    shown = store.look_up("203.0.113.9")
    store.clear("203.0.113.9")

    assert shown["credential"][0] == 1
    assert store.look_up("203.0.113.9") == {}
    assert "a master" in store.answers_from()


def test_lost_one_is_a_lost_store(valkey):
    count()
    valkey.stop()

    assert count().allowed
    assert limiter.state() == "fallback"
