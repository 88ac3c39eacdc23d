"""System checks that warn of rate limit settings that do not fit together or the deployment."""

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004

WarningRow = tuple[str, bool, str, str]  # id, such as "W001"; condition; message; hint


@register(Tags.security)
def check_limits(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    return due_warnings(
        "throttling",
        (
            "W001",
            settings.WEB_CONCURRENCY > 1 and not settings.REDIS_URL,
            "Each process counts requests on its own, and limits apply per process.",
            "Set REDIS_URL, or serve with WEB_CONCURRENCY=1 and more WEB_THREADS.",
        ),
        (
            "W003",
            settings.RATE_LIMIT_CREDENTIAL > settings.RATE_LIMIT_PUBLIC,
            "The credential limit is higher than the public limit.",
            "Lower RATE_LIMIT_CREDENTIAL to RATE_LIMIT_PUBLIC or less.",
        ),
    )


@register(Tags.security, deploy=True)
def check_deployment(app_configs: object, **kwargs: object) -> list[CheckMessage]:
    database = settings.DATABASES["default"]
    host = str(database.get("HOST") or database.get("OPTIONS", {}).get("host", ""))
    redis = str(settings.REDIS_URL or "").rpartition("@")[2].rpartition("//")[2]
    return due_warnings(
        "throttling",
        (  # A proxy ends TLS but is not trusted, so its address counts as the caller of all calls.
            "W002",
            settings.FRONTEND_URL.startswith("https://") and not settings.TRUSTED_PROXY_COUNT,
            "There seems to be a proxy, but none is trusted, so all clients share one limit.",
            "Set TRUSTED_PROXY_COUNT to the number of reverse proxies in front of the service.",
        ),
        (
            "W006",
            not settings.REDIS_URL and not is_local(host),
            "The database is on another host, but this host counts requests on its own.",
            "Set REDIS_URL to the Redis that all hosts share.",
        ),
        (
            "W007",
            not settings.BIND.is_private or settings.BIND.is_unspecified,
            "Clients may reach gunicorn without passing the proxy.",
            "Set BIND to 127.0.0.1, or to an address that only the proxy can reach.",
        ),
        (
            "W008",  # several hosts may serve, and only the operator knows how many
            not is_local(redis) and not settings.LIMITER_PROCESSES,
            "Redis is on another host, and the number of processes that share a limit is unknown.",
            "Set LIMITER_PROCESSES to the number of processes on all hosts together.",
        ),
        (
            "W009",
            bool(settings.RATE_LIMIT_DRY_RUN),
            "RATE_LIMIT_DRY_RUN allows requests over a limit.",
            "Unset it once the metrics show that the limits fit.",
        ),
    )


def is_local(host: str) -> bool:
    """Whether an address without scheme begins with a name of this host or is a socket's path, or
    is "", the default. Several addresses with commas don't count."""
    local_prefixes = ("/", "localhost", "127.0.0.1", "::1", "[::1]")
    return not host or (host.startswith(local_prefixes) and "," not in host)


def due_warnings(app: str, *rows: WarningRow) -> list[CheckMessage]:
    """A warning for each row whose condition is true."""
    return [
        Warning(text, hint=hint, id=f"{app}.{number}")
        for number, is_due, text, hint in rows
        if is_due
    ]
