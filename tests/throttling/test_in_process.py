"""Counting in process is exact over threads, and bounded."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from throttling.limiter import Decision, ProcessCounter, limiter

pytestmark = pytest.mark.usefixtures("in_process")


def count(limit=10, caller="203.0.113.9"):
    return limiter.count_request("credential", caller, limit, strict=True)


def test_window_in_process_is_fixed_and_ends(clock):
    count(1)
    clock.now += 59.5
    refused = count(1)
    clock.now += 0.5

    assert refused == Decision(allowed=False, limit=1, remaining=0, reset=1)
    assert count(1) == Decision(allowed=True, limit=1, remaining=0, reset=60)


def test_threads_share_one_exact_count_in_process():
    with ThreadPoolExecutor(32) as threads:
        decisions = list(threads.map(lambda _: count(50), range(300)))

    assert sum(decision.allowed for decision in decisions) == 50


def test_each_process_allows_its_part_of_a_strict_limit(settings):
    settings.WEB_CONCURRENCY = 4

    assert count(10).limit == 2
    assert count(3, "203.0.113.10").limit == 1
    assert limiter.count_request("public", "203.0.113.9", 300, strict=False).limit == 300
    settings.LIMITER_PROCESSES = 5  # of all hosts
    assert count(20).limit == 4


def test_ended_windows_in_process_are_deleted(clock):
    process = ProcessCounter()
    for number in range(100):
        process.count_request(f"key-{number}", 60)
    clock.now += 60
    process.count_request("last", 60)

    assert list(process.windows) == ["last"]


def test_process_counter_is_bounded_and_deletes_the_oldest_window_first():
    process = ProcessCounter(capacity=3)
    for key in ["a", "b", "c", "b", "d"]:
        process.count_request(key, 60)

    assert list(process.windows) == ["b", "c", "d"]
    assert process.count_request("b", 60)[0] == 3


def test_forked_child_counts_for_itself():
    count(10)

    child = os.fork()
    if child == 0:
        os._exit(count(10).remaining)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
