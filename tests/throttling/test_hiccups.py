"""A store that is silent for a moment gives a process no more than what is left of its share."""

import signal

import pytest

from throttling import counter
from throttling.counter import limiter


def count(limit=10, caller="203.0.113.9"):
    return limiter.count("credential", caller, limit, strict=True)


@pytest.fixture
def stop(store):
    return lambda: store.process.send_signal(signal.SIGSTOP)


@pytest.fixture
def go_on(store):
    return lambda: store.process.send_signal(signal.SIGCONT)


def test_single_timeout_lets_through_what_is_left(stop):
    assert [count(3).remaining for _ in range(2)] == [2, 1]
    stop()

    assert count(3) == counter.Decision(allowed=True, limit=3, remaining=0, reset=60)


def test_single_timeout_lets_nobody_through_whose_limit_is_used_up(stop, clock):
    assert [count(2).allowed for _ in range(3)] == [True, True, False]
    clock.now += 1  # memory has forgotten
    stop()

    assert not count(2).allowed


def test_what_other_processes_have_let_through_takes_its_part_of_the_share(
    stop, settings, redis_of_store
):
    settings.WEB_CONCURRENCY = 4
    redis_of_store.set("throttle:credential:203.0.113.9", 40, px=30_000)
    assert count(50).remaining == 9
    stop()

    # A share is 12; of 41, and one for each other process, 11 are this one's part.
    assert [count(50).allowed for _ in range(2)] == [True, False]


def test_process_keeps_to_its_share_until_the_window_ends(stop, go_on, clock, settings):
    settings.WEB_CONCURRENCY = 4
    count(8)
    stop()
    assert [count(8).allowed for _ in range(3)] == [True, False, False]
    go_on()
    clock.now += 0.5

    assert not count(8).allowed
    clock.now += 60
    assert count(8).allowed


def test_silence_of_a_second_gives_the_whole_share(stop, clock):
    stop()
    assert [count(3).allowed for _ in range(3)] == [True, False, False]
    clock.now += 1  # a probe is due: it finds nobody

    assert [count(3).remaining for _ in range(3)] == [1, 0, 0]


def test_another_caller_is_not_held(stop, go_on, clock, settings):
    settings.WEB_CONCURRENCY = 4
    stop()
    count(8)
    count(8)
    go_on()
    clock.now += 0.5

    assert [count(8, "203.0.113.10").remaining for _ in range(8)] == list(range(7, -1, -1))


def test_caller_who_came_during_the_silence_is_held_too(stop, go_on, clock, settings):
    settings.WEB_CONCURRENCY = 4
    stop()
    for caller in ("203.0.113.10", "203.0.113.11"):
        count(8, caller)
    assert [count(8).allowed for _ in range(3)] == [True, False, False]
    go_on()
    clock.now += 0.5

    assert [count(8).allowed for _ in range(2)] == [True, False]


def test_store_that_died_begins_anew(store, clock, settings):
    settings.WEB_CONCURRENCY = 4
    store.stop()
    for _ in range(3):
        count(8, "203.0.113.10")
        count(8)
    store.start()
    clock.now += 0.5

    assert count(8).remaining == 7
