"""What is exhausted is refused from memory for up to a second."""

import pytest

from throttling import counter, store
from throttling.counter import limiter

KEY = "throttle:public:203.0.113.9"


def count(limit=2):
    return limiter.count("public", "203.0.113.9", limit, strict=False)


@pytest.fixture
def exhausted(redis, clock):
    for _ in range(3):
        refused = count()
    assert not refused.allowed


def test_refusal_from_memory_does_not_ask_the_store(exhausted, redis):
    assert not count().allowed
    assert redis.get(KEY) == b"3"


def test_store_is_asked_again_after_a_second(exhausted, redis, clock):
    clock.now += 1

    assert not count().allowed
    assert redis.get(KEY) == b"4"


def test_reset_counts_down(redis, clock):
    redis.set(KEY, 2, px=30_000)
    assert count().reset == 30
    clock.now += 0.99

    assert count() == counter.Decision(allowed=False, limit=2, remaining=0, reset=30)
    clock.now += 0.005
    assert count().reset in {29, 30}


def test_window_that_ends_within_the_second_ends_the_refusal(redis, clock):
    redis.set(KEY, 2, px=300)
    assert not count().allowed
    redis.delete(KEY)
    clock.now += 0.3

    assert count().allowed


def test_cleared_limit_is_felt_within_a_second(exhausted, clock):
    store.clear("203.0.113.9")
    clock.now += 1

    assert count() == counter.Decision(allowed=True, limit=2, remaining=1, reset=60)


def test_higher_limit_is_not_refused_from_memory(exhausted):
    assert count(10).remaining == 6


def test_lost_store_refuses_nobody_from_memory_for_longer(exhausted, clock, absent_store):
    assert count().allowed


def test_memory_is_bounded():
    refusals = counter.Refusals(capacity=3)
    for number in range(10):
        refusals.remember(f"key-{number}", 3, 60)

    assert list(refusals.known) == ["key-7", "key-8", "key-9"]


def test_what_has_ended_is_dropped(clock):
    refusals = counter.Refusals()
    refusals.remember("first", 3, 60)
    clock.now += 1
    refusals.remember("second", 3, 60)

    assert list(refusals.known) == ["second"]
