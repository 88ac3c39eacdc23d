"""System checks of the limits: what would count wrongly, or make no sense."""

import ipaddress

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004

COUNTS_AND_SECONDS = [
    "RATE_LIMIT_AUTHENTICATED",
    "RATE_LIMIT_PUBLIC",
    "RATE_LIMIT_CREDENTIAL",
    "RATE_LIMIT_WINDOW_SECONDS",
    "LOCKOUT_THRESHOLD",
    "LOCKOUT_SECONDS",
]


@register(Tags.security)
def check_shared_store(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Several processes without a store let through a multiple of the limit."""
    if settings.WEB_CONCURRENCY == 1 or settings.REDIS_URL:
        return []
    return [
        Warning(
            f"{settings.WEB_CONCURRENCY} processes each count on their own.",
            hint="Set REDIS_URL, or serve with WEB_CONCURRENCY=1 and more WEB_THREADS.",
            id="throttling.W001",
        )
    ]


@register(Tags.security, deploy=True)
def check_store_of_several_hosts(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """A database on another host may serve several of this service's, which must count together."""
    database = settings.DATABASES["default"]
    host = str(database.get("HOST") or database.get("OPTIONS", {}).get("host", ""))
    is_local = not host or host.startswith("/") or host in {"localhost", "127.0.0.1", "::1"}
    if settings.REDIS_URL or is_local:
        return []
    return [
        Warning(
            "The database is on another host, and limits are counted by this process alone.",
            hint="Set REDIS_URL to the store that all hosts share.",
            id="throttling.W006",
        )
    ]


@register(Tags.security, deploy=True)
def check_share(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """A store on another host may serve several of this service's: in its outage each process has
    its share of the limit, and only an operator knows how many there are."""
    address = str(settings.REDIS_URL or "").rpartition("@")[2].rpartition("//")[2]
    is_local = address.startswith(("localhost", "127.0.0.1", "[::1]")) and "," not in address
    if not settings.REDIS_URL or is_local or settings.LIMITER_PROCESSES:
        return []
    return [
        Warning(
            "The limiter's store is on another host; how many processes share a limit is not said.",
            hint="Set LIMITER_PROCESSES to the number of processes on all hosts together.",
            id="throttling.W008",
        )
    ]


@register(Tags.security, deploy=True)
def check_proxies(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Without a trusted proxy the peer counts, which behind one is the proxy itself."""
    # The service ends no TLS, so an https front end means that something before it does.
    hints_at_proxies = (
        settings.SECURE_PROXY_SSL_HEADER
        or settings.USE_X_FORWARDED_HOST
        or settings.FRONTEND_URL.startswith("https://")
    )
    if settings.TRUSTED_PROXY_COUNT or not hints_at_proxies:
        return []
    return [
        Warning(
            "There seems to be a proxy, but none is trusted: all its clients share one count.",
            hint="Set TRUSTED_PROXY_COUNT to the number of reverse proxies in front.",
            id="throttling.W002",
        )
    ]


@register(Tags.security, deploy=True)
def check_bind_address(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Whoever reaches gunicorn past the proxy claims any address, and holds threads by sending
    slowly."""
    bind = ipaddress.ip_address(settings.BIND.strip("[]"))
    if bind.is_private and not bind.is_unspecified:
        return []
    return [
        Warning(
            f"gunicorn listens on {bind}, where clients may reach it past the proxy.",
            hint="Set BIND to 127.0.0.1, or to an address that only the proxy reaches.",
            id="throttling.W007",
        )
    ]


@register(Tags.security)
def check_limits(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    """Numbers that let nobody through, or contradict each other."""
    found: list[CheckMessage] = [
        Error(
            f"{name} is {getattr(settings, name)}.",
            hint="Give it a whole number of at least 1.",
            id="throttling.E001",
        )
        for name in COUNTS_AND_SECONDS
        if getattr(settings, name) < 1
    ]
    if settings.RATE_LIMIT_CREDENTIAL > settings.RATE_LIMIT_PUBLIC:
        found.append(
            Warning(
                "Passwords can be tried more often than public pages can be read.",
                hint="Set RATE_LIMIT_CREDENTIAL no higher than RATE_LIMIT_PUBLIC.",
                id="throttling.W003",
            )
        )
    if settings.LOCKOUT_THRESHOLD == 1:
        found.append(
            Warning(
                "One mistyped password locks its owner out.",
                hint="Set LOCKOUT_THRESHOLD to 3 or more.",
                id="throttling.W004",
            )
        )
    if settings.LOCKOUT_SECONDS < settings.RATE_LIMIT_WINDOW_SECONDS:
        found.append(
            Warning(
                "A lock is over before the window that its Retry-After names.",
                hint="Set LOCKOUT_SECONDS no lower than RATE_LIMIT_WINDOW_SECONDS.",
                id="throttling.W005",
            )
        )
    return found
