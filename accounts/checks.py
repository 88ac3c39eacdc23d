"""System checks of the accounts app, for production (`manage.py check --deploy`)."""

import re
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]"}
EXAMPLE = re.compile(r"^replace-this|\bexample\.(com|net|org)\b", re.IGNORECASE)
NO_MAIL = {"console", "filebased", "locmem", "dummy"}


@register("security", deploy=True)
def cookies_are_secure(app_configs: object, **options: object) -> list[CheckMessage]:
    if settings.COOKIE_SECURE:
        return []
    return [
        CheckWarning(
            "The refresh cookie is sent over plain HTTP.",
            hint="Set COOKIE_SECURE=true and serve the API over HTTPS.",
            id="accounts.W001",
        )
    ]


@register("security", deploy=True)
def links_are_https(app_configs: object, **options: object) -> list[CheckMessage]:
    if settings.FRONTEND_URL.startswith("https://"):
        return []
    return [
        CheckWarning(
            "The links in e-mails lead to a plain HTTP address.",
            hint="Set FRONTEND_URL to the front-end's https address.",
            id="accounts.W002",
        )
    ]


@register("security", deploy=True)
def service_is_https(app_configs: object, **options: object) -> list[CheckMessage]:
    """Assistants are sent there with their tokens, and origins are held against it."""
    if settings.SERVICE_URL.startswith("https://"):
        return []
    return [
        CheckWarning(
            "SERVICE_URL is a plain HTTP address.",
            hint="Set SERVICE_URL to the https address by which browsers reach this service.",
            id="accounts.W008",
        )
    ]


@register("security", deploy=True)
def issuer_is_found(app_configs: object, **options: object) -> list[CheckMessage]:
    """Who looks for the issuer's metadata (RFC 8414) finds SERVICE_URL in it, and compares."""
    if not settings.ASSISTANTS or settings.JWT_ISSUER == settings.SERVICE_URL:
        return []
    return [
        CheckWarning(
            "Tokens name another issuer than /.well-known/oauth-authorization-server does.",
            hint="A new installation sets JWT_ISSUER to SERVICE_URL's value; in one that is in use "
            "that signs everybody out once.",
            id="accounts.W009",
        )
    ]


@register("security", deploy=True)
def database_is_a_server(app_configs: object, **options: object) -> list[CheckMessage]:
    if not settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return []
    return [
        CheckWarning(
            "The embedded database serves one machine, and one writer at a time.",
            hint="Set DATABASE_URL to a PostgreSQL server's.",
            id="accounts.W004",
        )
    ]


@register("security", deploy=True)
def mail_is_sent(app_configs: object, **options: object) -> list[CheckMessage]:
    if settings.EMAIL_BACKEND.split(".")[-2] not in NO_MAIL:
        return []
    return [
        CheckWarning(
            "Mails go to the terminal or into files, with their links, and to nobody.",
            hint="Set EMAIL_URL to a mail server's, such as smtp+tls://user:password@host:587.",
            id="accounts.W005",
        )
    ]


@register("security", deploy=True)
def hosts_are_named(app_configs: object, **options: object) -> list[CheckMessage]:
    """Django's own check knows the empty list only."""
    hosts = set(settings.ALLOWED_HOSTS)
    if "*" not in hosts and hosts - LOCAL_HOSTS:
        return []
    return [
        CheckWarning(
            "ALLOWED_HOSTS lets any host through, or none but this machine's.",
            hint="Set ALLOWED_HOSTS to the names that clients call the service by.",
            id="accounts.W006",
        )
    ]


@register("security", deploy=True)
def secret_is_shared(app_configs: object, **options: object) -> list[CheckMessage]:
    """A database server may serve several hosts, each with a secret that it made for itself: links
    in e-mails and admin sessions of one would be refused by the next."""
    kept: Path = settings.DATA_DIR / "secret_key"
    own = kept.exists() and kept.read_text().strip() == settings.SECRET_KEY
    if not own or settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return []
    return [
        CheckWarning(
            "SECRET_KEY is unset and was made on this host.",
            hint="Set SECRET_KEY to the same value on every host.",
            id="accounts.W007",
        )
    ]


@register("security", deploy=True)
def staff_show_a_second_factor(app_configs: object, **options: object) -> list[CheckMessage]:
    if settings.STAFF_SECOND_FACTOR:
        return []
    return [
        CheckWarning(
            "A password alone opens the admin site.",
            hint="Set STAFF_SECOND_FACTOR=true: staff set up a second factor at their next log-in.",
            id="accounts.W010",
        )
    ]


@register("security", deploy=True)
def placeholders_are_filled_in(app_configs: object, **options: object) -> list[CheckMessage]:
    """Nobody can own example.com (RFC 2606 §3): its names stand for one's own."""
    return [
        Error(
            f"{name} still holds the example's value.",
            hint=f"Set {name} to your own.",
            id="accounts.E003",
        )
        for name, value in values_of_the_example().items()
        if EXAMPLE.search(value)
    ]


def values_of_the_example() -> dict[str, str]:
    """What deploy/environment.example leaves to be filled in, as the settings hold it."""
    database = settings.DATABASES["default"]
    return {
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": str(database.get("HOST", "")),
        "REDIS_URL": settings.REDIS_URL or "",
        "EMAIL_URL": settings.EMAIL_HOST,
        "DEFAULT_FROM_EMAIL": settings.DEFAULT_FROM_EMAIL,
        "FRONTEND_URL": settings.FRONTEND_URL,
        "SERVICE_URL": settings.SERVICE_URL,
        "PASSKEYS_RP_ID": settings.PASSKEYS_RP_ID,
        "CORS_ALLOWED_ORIGINS": " ".join(settings.CORS_ALLOWED_ORIGINS),
        "ALLOWED_HOSTS": " ".join(settings.ALLOWED_HOSTS),
    }
