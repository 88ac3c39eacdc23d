"""One host loses its way to Redis, or to PostgreSQL; the others notice nothing."""

import time
from collections import Counter

import pytest

from tests.servers import wait_until

pytestmark = pytest.mark.hosts


def test_host_without_redis_serves_and_counts_its_share(hosts):
    lonely, *others = hosts

    def refresh():
        body = {"refresh_token": "none of ours"}
        return lonely.ask("192.0.2.8", "POST", "/auth/refresh", body).status

    with lonely.cut_off_from("redis"):
        began = time.monotonic()
        looked = lonely.ask("192.0.2.8", "GET", "/.well-known/jwks.json").status
        took = time.monotonic() - began
        wait_until(lambda: lonely.health()["limiter"] == "fallback", 20)
        time.sleep(1.2)  # what lasts longer than a second is no hiccup: the share may be used up
        answers = Counter(refresh() for _ in range(12))
        assert (lonely.health()["status"], lonely.health()["limiter"]) == ("degraded", "fallback")
        assert {host.health()["status"] for host in others} == {"ok"}

    assert (looked, took < 5 * 0.3) == (200, True)
    assert answers == {401: 4, 429: 8}  # a third of the limit, as LIMITER_PROCESSES says
    wait_until(lambda: lonely.health()["status"] == "ok", 20)


def test_host_without_postgresql_says_so_and_heals(hosts, balancer):
    first, lonely, third = hosts
    token = balancer.log_in()

    with lonely.cut_off_from("db"):
        began = time.monotonic()
        assert lonely.status(token) == 503
        assert time.monotonic() - began < 5 * 4
        wait_until(lambda: lonely.health().get("database") == "unavailable", 20)
        assert [first.status(token), third.status(token)] == [200, 200]
        keys = lonely.ask("192.0.2.1", "GET", "/.well-known/jwks.json")
        assert keys.status == 200

    wait_until(lambda: lonely.status(token) == 200, 20)
    assert lonely.health()["status"] == "ok"
