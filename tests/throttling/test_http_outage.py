"""An outage of Redis while two processes serve: only operators notice it."""

import pytest

from tests.requests import ask
from tests.servers import wait_until
from tests.throttling.conftest import at_once, limits, message

pytestmark = pytest.mark.live

ORDINARY = message("GET", "/nope"), message("GET", "/auth/me")
LOG_IN = message("POST", "/auth/login", {})
LOST, FOUND = "Redis is unavailable", "Redis is available again"
FULL = {"x-ratelimit-limit": "1000", "x-ratelimit-remaining": "1000", "x-ratelimit-reset": "60"}


def call_until_logged(service, line):
    """Make ordinary calls until both processes have logged the line."""

    def logged():
        answers = at_once(service, [*ORDINARY] * 4)
        assert {answer.status for answer in answers} == {401, 404}
        return service.log.count(line) >= 2

    wait_until(logged, 20)


def health(service):
    """The answers of /health to so many calls that each process has probably answered one."""
    answers = at_once(service, [message("GET", "/health")] * 8)
    assert {answer.status for answer in answers} == {200}
    return [answer.json() for answer in answers]


def log_ins(service, count):
    answers = at_once(service, [LOG_IN] * count)
    assert {answer.status for answer in answers} <= {400, 429}
    return answers


def assert_serves_without_store(service):
    """Ordinary calls are allowed. Of the 8 credential calls each of two processes allows half."""
    for answer in at_once(service, [*ORDINARY] * 20):
        assert answer.status in {401, 404}
        assert limits(answer) == FULL
    assert all(report["limiter"] == "fallback" for report in health(service))
    assert all(report["status"] == "degraded" for report in health(service))
    answers = []
    wait_until(lambda: answers.extend(log_ins(service, 4)) or len(allowed(answers)) == 8, 20)
    answers += log_ins(service, 20)
    remaining = sorted(answer.headers["x-ratelimit-remaining"] for answer in allowed(answers))
    assert remaining == sorted("0123" * 2)
    assert {answer.headers["x-ratelimit-limit"] for answer in allowed(answers)} == {"4"}


def allowed(answers):
    return [answer for answer in answers if answer.status != 429]


def assert_found_again(service):
    """Calls of /health alone make the processes reconnect. Then Redis counts again."""
    ok = {"status": "ok", "database": "ok", "limiter": "ok", "keys": "ok"}
    wait_until(lambda: health(service) and service.log.count(FOUND) == 2, 20)
    assert health(service) == [ok] * 8
    assert len(allowed(log_ins(service, 20))) == 8
    assert limits(ask(service.url, "GET", "/nope"))["x-ratelimit-remaining"] != "1000"
    assert (service.log.count(LOST), service.log.count(FOUND)) == (2, 2)


def test_limiter_survives_a_killed_redis_and_reconnects(new_service, store):
    """Two processes serve, each of which allows four log-ins in process."""
    service = new_service(
        REDIS_URL=store.url,
        WEB_CONCURRENCY="2",
        RATE_LIMIT_PUBLIC="1000",
        RATE_LIMIT_AUTHENTICATED="1000",
        RATE_LIMIT_CREDENTIAL="8",
    ).start()
    wait_until(lambda: limits(ask(service.url, "GET", "/nope")) != FULL, 20)
    store.stop()

    call_until_logged(service, LOST)
    assert_serves_without_store(service)
    store.start()
    assert_found_again(service)
