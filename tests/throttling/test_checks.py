"""System checks: each finds its mistake, says what to do, and is silent otherwise."""

import ipaddress

import pytest

from throttling import checks


def ids():
    found = checks.check_limits(None) + checks.check_deployment(None)
    assert all(message.hint for message in found)
    return [message.id.removeprefix("throttling.") for message in found]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"WEB_CONCURRENCY": 4, "REDIS_URL": None}, ["W001"]),
        ({"SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https")}, ["W002"]),
        ({"USE_X_FORWARDED_HOST": True}, ["W002"]),
        ({"FRONTEND_URL": "https://app.example.com"}, ["W002"]),
        ({"FRONTEND_URL": "https://app.example.com", "TRUSTED_PROXY_COUNT": 1}, []),
        ({"RATE_LIMIT_PUBLIC": 9}, ["W003"]),
        (
            {"RATE_LIMIT_CREDENTIAL_NETWORKS": [(ipaddress.ip_network("203.0.113.0/24"), 301)]},
            ["W003"],
        ),
        *[({"BIND": bind}, []) for bind in ("127.0.0.1", "[::1]", "10.1.2.3")],
        *[({"BIND": bind}, ["W007"]) for bind in ("0.0.0.0", "[::]", "93.184.216.34")],
        ({"REDIS_URL": "redis://redis.example.com/0"}, ["W008"]),
        ({"REDIS_URL": "redis://redis.example.com/0", "LIMITER_PROCESSES": 8}, []),
        ({"REDIS_URL": "redis+sentinel://:p@127.0.0.1:1,127.0.0.1:2/mymaster/0"}, ["W008"]),
        ({"RATE_LIMIT_DRY_RUN": ["public"]}, ["W009"]),
    ],
)
def test_check_finds_the_mistake(settings, changed, expected):
    settings.REDIS_URL = "redis://:password@127.0.0.1:6379/0"
    for name, value in changed.items():
        setattr(settings, name, value)

    assert ids() == expected


def test_remote_database_needs_redis(settings, monkeypatch):
    settings.REDIS_URL = None
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "db.example.com")

    assert ids() == ["W006"]
