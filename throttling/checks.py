"""System checks of the limits: what would count wrongly, or make no sense."""

import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004


def is_local(host: str) -> bool:
    return not host or host.startswith("/") or host in {"localhost", "127.0.0.1", "::1", "[::1]"}


def several_hosts() -> bool:
    """The database is on another host, so that several hosts may serve, but no Redis counts."""
    database = settings.DATABASES["default"]
    host = str(database.get("HOST") or database.get("OPTIONS", {}).get("host", ""))
    return not settings.REDIS_URL and not is_local(host)


def shares_unknown() -> bool:
    """Redis is on another host, so that several hosts may serve; only operators know how many."""
    address = str(settings.REDIS_URL or "").rpartition("@")[2].rpartition("//")[2]
    is_here = address.startswith(("localhost", "127.0.0.1", "[::1]")) and "," not in address
    return bool(settings.REDIS_URL) and not is_here and not settings.LIMITER_PROCESSES


def proxy_untrusted() -> bool:
    """Something in front ends TLS, which the service does not, and its address would be counted."""
    has_proxy = (
        settings.SECURE_PROXY_SSL_HEADER
        or settings.USE_X_FORWARDED_HOST
        or settings.FRONTEND_URL.startswith("https://")
    )
    return bool(has_proxy) and not settings.TRUSTED_PROXY_COUNT


def bound_publicly() -> bool:
    """A client that reaches gunicorn past the proxy claims any address."""
    bind = ipaddress.ip_address(settings.BIND.strip("[]"))
    return not bind.is_private or bind.is_unspecified


def guesses_unlimited() -> bool:
    networks = [limit for _, limit in settings.RATE_LIMIT_CREDENTIAL_NETWORKS]
    return max([settings.RATE_LIMIT_CREDENTIAL, *networks]) > settings.RATE_LIMIT_PUBLIC


Row = tuple[str, Callable[[], bool], str, str]  # number, when it is due, what is wrong, what to do
ALWAYS: list[Row] = [
    (
        "W001",
        lambda: settings.WEB_CONCURRENCY > 1 and not settings.REDIS_URL,
        "Several processes each count on their own.",
        "Set REDIS_URL, or serve with WEB_CONCURRENCY=1 and more WEB_THREADS.",
    ),
    (
        "W003",
        guesses_unlimited,
        "Passwords can be tried more often than public pages can be read.",
        "Set no credential limit above RATE_LIMIT_PUBLIC.",
    ),
]
DEPLOYED: list[Row] = [
    (
        "W002",
        proxy_untrusted,
        "There seems to be a proxy, but none is trusted: all its clients share one count.",
        "Set TRUSTED_PROXY_COUNT to the number of reverse proxies in front.",
    ),
    (
        "W006",
        several_hosts,
        "The database is on another host, and limits are counted by this process alone.",
        "Set REDIS_URL to the Redis that all hosts share.",
    ),
    (
        "W007",
        bound_publicly,
        "gunicorn listens where clients may reach it past the proxy.",
        "Set BIND to 127.0.0.1, or to an address that only the proxy reaches.",
    ),
    (
        "W008",
        shares_unknown,
        "Redis is on another host, and the number of processes that share a limit is unknown.",
        "Set LIMITER_PROCESSES to the number of processes on all hosts together.",
    ),
    (
        "W009",
        lambda: bool(settings.RATE_LIMIT_DRY_RUN),
        "RATE_LIMIT_DRY_RUN lets through what is over a limit.",
        "Unset it once the metrics show that the limits fit.",
    ),
]


@register(Tags.security)
def check_limits(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    return warnings(ALWAYS)


@register(Tags.security, deploy=True)
def check_deployment(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    return warnings(DEPLOYED)


def warnings(rows: list[Row]) -> list[CheckMessage]:
    return [
        Warning(text, hint=hint, id=f"throttling.{number}")
        for number, is_due, text, hint in rows
        if is_due()
    ]
