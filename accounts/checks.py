"""Checks for settings that are unsafe in production (`manage.py check --deploy`)."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.http.request import validate_host

from throttling.checks import due_warnings

EXAMPLE_VALUE = re.compile(r"^replace-this|\bexample\.(com|net|org)\b", re.IGNORECASE)
SETTINGS_TO_FILL_IN = ["SECRET_KEY", "REDIS_URL", "METRICS_TOKEN", "DEFAULT_FROM_EMAIL"]
SETTINGS_TO_FILL_IN += ["FRONTEND_URL", "SERVICE_URL", "PASSKEYS_RP_ID", "CORS_ALLOWED_ORIGINS"]
SETTINGS_TO_FILL_IN += ["ALLOWED_HOSTS"]
PATH_VARIABLES = ["PGPASSFILE", "DATA_DIR"]  # of the environment
BACKENDS_WITHOUT_MAIL = {"console", "filebased", "locmem", "dummy"}


def uses_sqlite() -> bool:
    return str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3")


def generated_secret_key() -> bool:
    """Whether this host has generated SECRET_KEY, which other hosts need as well: with SQLite there
    are none."""
    file = settings.DATA_DIR / "secret_key"
    return not uses_sqlite() and file.exists() and file.read_text().strip() == settings.SECRET_KEY


@register("security", deploy=True)
def check_addresses(app_configs: object, **options: object) -> list[CheckMessage]:
    """Warnings about URLs and hosts. Each is due if its condition, the second value, is true."""
    allowed_hosts = {*settings.ALLOWED_HOSTS}
    urls = [settings.SERVICE_URL, settings.FRONTEND_URL, *settings.CORS_ALLOWED_ORIGINS]
    service_host, front_end_host, *cors_hosts = [urlsplit(url).hostname or "" for url in urls]
    return due_warnings(
        "accounts",
        (
            "W002",
            not settings.FRONTEND_URL.startswith("https://"),
            "The links in e-mails lead to a plain HTTP address.",
            "Set FRONTEND_URL to the front-end's https address.",
        ),
        (  # Django's own check warns about the empty list only.
            "W006",
            "*" in allowed_hosts or allowed_hosts <= {"localhost", "127.0.0.1", "[::1]"},
            "ALLOWED_HOSTS allows any host, or only this machine's own names.",
            "Set ALLOWED_HOSTS to the host names that clients use.",
        ),
        (  # Assistants send their tokens to it, and browsers' origins are compared with it.
            "W008",
            not settings.SERVICE_URL.startswith("https://"),
            "SERVICE_URL is a plain HTTP address.",
            "Set SERVICE_URL to the https address by which browsers reach this service.",
        ),
        (  # The issuer in the metadata is SERVICE_URL; clients compare it (RFC 8414).
            "W009",
            settings.ASSISTANTS and settings.JWT_ISSUER != settings.SERVICE_URL,
            "JWT_ISSUER differs from the issuer in /.well-known/oauth-authorization-server.",
            "In a new installation, set JWT_ISSUER to the value of SERVICE_URL. Changing it later "
            "signs every user out once. To keep it, set SILENCED_SYSTEM_CHECKS=accounts.W009.",
        ),
        (
            "W012",
            not validate_host(service_host, settings.ALLOWED_HOSTS),
            "ALLOWED_HOSTS lacks the host of SERVICE_URL, so its requests are refused.",
            "Correct ALLOWED_HOSTS or SERVICE_URL.",
        ),
        (
            "W013",
            not validate_host(front_end_host, [service_host, *settings.ALLOWED_HOSTS, *cors_hosts]),
            "FRONTEND_URL leads neither to this service nor to a host of CORS_ALLOWED_ORIGINS.",
            "Correct FRONTEND_URL, or name the origin of your front-end in CORS_ALLOWED_ORIGINS.",
        ),
    )


@register("security", deploy=True)
def check_choices(app_configs: object, **options: object) -> list[CheckMessage]:
    """Warnings about other settings, and variables of the environment."""
    return due_warnings(
        "accounts",
        (
            "W004",
            uses_sqlite(),
            "SQLite serves one machine only, and one writer at a time.",
            "Set DATABASE_URL to the address of a PostgreSQL server.",
        ),
        (
            "W005",
            settings.EMAIL_BACKEND.split(".")[-2] in BACKENDS_WITHOUT_MAIL,
            "Mails and their links go to the terminal or into files, not to users.",
            "Set EMAIL_URL to a mail server, such as smtp+tls://user:password@host:587.",
        ),
        (  # Another host would refuse this host's links and admin sessions.
            "W007",
            generated_secret_key(),
            "SECRET_KEY is not set; this host generated its own.",
            "Set SECRET_KEY to the same value on every host.",
        ),
        (
            "W010",
            not settings.STAFF_SECOND_FACTOR,
            "Staff can enter the admin site with a password alone.",
            "Set STAFF_SECOND_FACTOR=true. Staff set up a second factor at their next sign-in.",
        ),
        (
            "W011",
            not settings.PASSWORD_REJECT_COMMON,
            "Users may choose common passwords.",
            "Set PASSWORD_REJECT_COMMON=true.",
        ),
        (
            "W014",
            not all(Path(os.environ.get(name, "/")).exists() for name in PATH_VARIABLES),
            "PGPASSFILE or DATA_DIR names a path that does not exist.",
            "Correct the variable, or make the file or folder.",
        ),
        *(
            (
                "W015",
                True,
                f"{name} is unknown. Did you mean {similar}?",
                f"Correct or unset {name}.",
            )
            for name, similar in settings.MISSPELT_NAMES.items()
        ),
    )


@register("security", deploy=True)
def check_placeholders(app_configs: object, **options: object) -> list[CheckMessage]:
    """An error for each setting that still has the placeholder of deploy/environment.example, or a
    domain that no service can own (RFC 2606 §3)."""
    values = {name: str(getattr(settings, name)) for name in SETTINGS_TO_FILL_IN}
    values["EMAIL_URL"] = settings.EMAIL_HOST
    values["DATABASE_URL"] = str(settings.DATABASES["default"].get("HOST", ""))
    return [
        Error(
            f"{name} still has the value of the example.",
            hint=f"Set {name} to a value of your own.",
            id="accounts.E003",
        )
        for name, value in values.items()
        if EXAMPLE_VALUE.search(value)
    ]
