"""What `manage.py check --deploy` says of settings that production must not have."""

import re
from collections.abc import Callable
from typing import NamedTuple

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]"}
EXAMPLE = re.compile(r"^replace-this|\bexample\.(com|net|org)\b", re.IGNORECASE)
NO_MAIL = {"console", "filebased", "locmem", "dummy"}


class Check(NamedTuple):
    is_wrong: Callable[[], bool]
    id: str
    message: str
    hint: str


def is_embedded() -> bool:
    return str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3")


def is_own_secret() -> bool:
    """Whether a host that may have others beside it made its secret itself."""
    kept = settings.DATA_DIR / "secret_key"
    own: bool = kept.exists() and kept.read_text().strip() == settings.SECRET_KEY
    return own and not is_embedded()


CHECKS = [
    Check(
        lambda: not settings.COOKIE_SECURE,
        "accounts.W001",
        "The refresh cookie is sent over plain HTTP.",
        "Set COOKIE_SECURE=true and serve the API over HTTPS.",
    ),
    Check(
        lambda: not settings.FRONTEND_URL.startswith("https://"),
        "accounts.W002",
        "The links in e-mails lead to a plain HTTP address.",
        "Set FRONTEND_URL to the front-end's https address.",
    ),
    Check(
        is_embedded,
        "accounts.W004",
        "The embedded database serves one machine, and one writer at a time.",
        "Set DATABASE_URL to a PostgreSQL server's.",
    ),
    Check(
        lambda: settings.EMAIL_BACKEND.split(".")[-2] in NO_MAIL,
        "accounts.W005",
        "Mails and their links go to the terminal or into files, not to users.",
        "Set EMAIL_URL to a mail server's, such as smtp+tls://user:password@host:587.",
    ),
    Check(  # Django's own check knows the empty list only.
        lambda: "*" in settings.ALLOWED_HOSTS or not {*settings.ALLOWED_HOSTS} - LOCAL_HOSTS,
        "accounts.W006",
        "ALLOWED_HOSTS allows any host, or this machine's names only.",
        "Set ALLOWED_HOSTS to the names that clients call the service by.",
    ),
    Check(  # Links and admin sessions of one host would be refused by the next.
        is_own_secret,
        "accounts.W007",
        "SECRET_KEY is unset and was made on this host.",
        "Set SECRET_KEY to the same value on every host.",
    ),
    Check(  # Assistants send their tokens there, and origins are compared with it.
        lambda: not settings.SERVICE_URL.startswith("https://"),
        "accounts.W008",
        "SERVICE_URL is a plain HTTP address.",
        "Set SERVICE_URL to the https address by which browsers reach this service.",
    ),
    Check(  # Clients compare the issuer in the metadata (RFC 8414), which is SERVICE_URL.
        lambda: settings.ASSISTANTS and settings.JWT_ISSUER != settings.SERVICE_URL,
        "accounts.W009",
        "Tokens name another issuer than /.well-known/oauth-authorization-server does.",
        "A new installation sets JWT_ISSUER to SERVICE_URL's value; in one that is in use, this "
        "signs every user out once.",
    ),
    Check(
        lambda: not settings.STAFF_SECOND_FACTOR,
        "accounts.W010",
        "A password alone opens the admin site.",
        "Set STAFF_SECOND_FACTOR=true: staff set up a second factor at their next log-in.",
    ),
    Check(
        lambda: not settings.PASSWORD_REJECT_COMMON,
        "accounts.W011",
        "Users may choose passwords that everybody knows.",
        "Set PASSWORD_REJECT_COMMON=true.",
    ),
]


@register("security", deploy=True)
def check_settings(app_configs: object, **options: object) -> list[CheckMessage]:
    wrong = [check for check in CHECKS if check.is_wrong()]
    return [CheckWarning(check.message, hint=check.hint, id=check.id) for check in wrong]


@register("security", deploy=True)
def check_placeholders(app_configs: object, **options: object) -> list[CheckMessage]:
    """What deploy/environment.example leaves to be filled in. Nobody can own example.com (RFC 2606
    §3): its names stand for one's own."""
    values = {
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": str(settings.DATABASES["default"].get("HOST", "")),
        "REDIS_URL": settings.REDIS_URL or "",
        "METRICS_TOKEN": settings.METRICS_TOKEN or "",
        "EMAIL_URL": settings.EMAIL_HOST,
        "DEFAULT_FROM_EMAIL": settings.DEFAULT_FROM_EMAIL,
        "FRONTEND_URL": settings.FRONTEND_URL,
        "SERVICE_URL": settings.SERVICE_URL,
        "PASSKEYS_RP_ID": settings.PASSKEYS_RP_ID,
        "CORS_ALLOWED_ORIGINS": " ".join(settings.CORS_ALLOWED_ORIGINS),
        "ALLOWED_HOSTS": " ".join(settings.ALLOWED_HOSTS),
    }
    return [
        Error(
            f"{name} still holds the example's value.",
            hint=f"Set {name} to your own.",
            id="accounts.E003",
        )
        for name, value in values.items()
        if EXAMPLE.search(value)
    ]
