"""System checks: each finds its mistake, says what to do, and is silent else."""

import pytest

from throttling import checks


def ids(found):
    assert all(message.hint for message in found)
    return [message.id for message in found]


def test_defaults_are_sound(settings):
    settings.REDIS_URL = None

    assert checks.check_shared_store(None) == []
    assert checks.check_limits(None) == []
    assert checks.check_proxies(None) == []


def test_processes_need_a_shared_store(settings):
    settings.WEB_CONCURRENCY, settings.REDIS_URL = 4, None
    assert ids(checks.check_shared_store(None)) == ["throttling.W001"]

    settings.REDIS_URL = "redis://127.0.0.1/0"
    assert checks.check_shared_store(None) == []


@pytest.mark.parametrize("bind", ["127.0.0.1", "[::1]", "10.1.2.3"])
def test_address_that_only_a_proxy_reaches_is_silent(settings, bind):
    settings.BIND = bind

    assert checks.check_bind_address(None) == []


@pytest.mark.parametrize(
    "url", ["redis://redis.example.com/0", "redis+sentinel://:p@127.0.0.1:1,127.0.0.1:2/mymaster/0"]
)
def test_shared_store_needs_the_number_of_processes(settings, url):
    settings.REDIS_URL = url
    assert ids(checks.check_share(None)) == ["throttling.W008"]

    settings.LIMITER_PROCESSES = 8
    assert checks.check_share(None) == []


def test_local_store_is_of_one_host(settings):
    settings.REDIS_URL = "redis://:password@127.0.0.1:6379/0"

    assert checks.check_share(None) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECURE_PROXY_SSL_HEADER", ("HTTP_X_FORWARDED_PROTO", "https")),
        ("USE_X_FORWARDED_HOST", True),
        ("FRONTEND_URL", "https://app.example.com"),
    ],
)
def test_hints_at_a_proxy_that_is_not_trusted(settings, name, value):
    setattr(settings, name, value)
    assert ids(checks.check_proxies(None)) == ["throttling.W002"]

    settings.TRUSTED_PROXY_COUNT = 1
    assert checks.check_proxies(None) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("RATE_LIMIT_WINDOW_SECONDS", 0, "throttling.E001"),
        ("RATE_LIMIT_PUBLIC", 9, "throttling.W003"),
        ("LOCKOUT_THRESHOLD", 1, "throttling.W004"),
        ("LOCKOUT_SECONDS", 59, "throttling.W005"),
    ],
)
def test_limits_that_make_no_sense(settings, name, value, expected):
    setattr(settings, name, value)

    assert ids(checks.check_limits(None)) == [expected]
