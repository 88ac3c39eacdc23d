"""Counting in Redis is exact, takes one round trip, and corrects invalid keys."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.costs import commands
from throttling.limiter import Decision, limiter

KEY = "throttle:credential:203.0.113.9"


def count(limit=10):
    return limiter.count_request("credential", "203.0.113.9", limit, strict=True)


def test_window_begins_with_its_first_request(redis):
    assert count() == Decision(allowed=True, limit=10, remaining=9, reset=60)
    assert 59_000 < redis.pttl(KEY) <= 60_000
    assert redis.keys() == [KEY.encode()]


def test_refused_request_does_not_prolong_the_window(redis):
    assert [count(2).remaining for _ in range(2)] == [1, 0]
    redis.pexpire(KEY, 1200)

    refused = count(2)

    assert refused == Decision(allowed=False, limit=2, remaining=0, reset=2)
    assert redis.pttl(KEY) <= 1200


def test_refusal_is_remembered_until_the_window_ends_or_for_five_seconds(redis, clock):
    count(1)
    assert not count(1).allowed
    redis.delete(KEY)
    before = commands()

    clock.now += 4
    assert count(1) == Decision(allowed=False, limit=1, remaining=0, reset=56)
    assert commands() == before
    clock.now += 2
    assert count(1).allowed


def test_refusal_ends_with_its_window(redis, clock):
    count(1)
    redis.pexpire(KEY, 2000)
    assert not count(1).allowed
    redis.delete(KEY)

    clock.now += 2.1

    assert count(1).allowed


def test_refusal_is_forgotten_when_the_limit_is_raised(redis):
    assert [count(1).allowed for _ in range(3)] == [True, False, False]

    assert count(3).allowed
    assert not count(1).allowed


def test_remembered_refusals_are_bounded(redis, monkeypatch):
    monkeypatch.setattr(limiter.refused_callers, "capacity", 2)
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
        limiter.count_request("public", address, 0, strict=False)

    assert len(limiter.refused_callers.windows) == 2


def test_reset_of_a_window_is_never_zero(redis):
    redis.set(KEY, 1, px=900)

    assert count().reset == 1


@pytest.mark.parametrize(
    "garbage", [b"", b"abc", b"\xff\x00", b"1.5", b"-7", b"9223372036854775807", b"9" * 40]
)
def test_invalid_value_of_a_key_starts_a_new_window(redis, garbage):
    redis.set(KEY, garbage, px=5000)

    assert count() == Decision(allowed=True, limit=10, remaining=9, reset=60)
    assert count().remaining == 8
    assert limiter.redis_state() == "ok"


@pytest.mark.parametrize("expiry", [None, 86_400])
def test_lost_or_too_long_expiry_of_a_key_is_corrected(redis, expiry):
    redis.set(KEY, 10, ex=expiry)

    assert count() == Decision(allowed=False, limit=10, remaining=0, reset=60)
    assert 59_000 < redis.pttl(KEY) <= 60_000


def test_new_redis_connection_sends_only_the_count(redis):
    count()
    before = commands()
    limiter.client.connection_pool.disconnect()
    count()

    assert commands() - before == 1


def test_script_that_redis_forgot_is_loaded_again(store):
    with ThreadPoolExecutor(8) as threads:
        decisions = list(threads.map(lambda _: count(40), range(40)))
    store.client.script_flush()

    assert not count(40).allowed
    assert int(store.client.get(KEY)) == 41
    assert all(decision.allowed for decision in decisions)
