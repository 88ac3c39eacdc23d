"""`manage.py check --deploy` reports settings that are unsafe in production."""

import ipaddress
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.db import connection

from tests import servers
from tests.config.helpers import PRODUCTION
from tests.mail.conftest import MailServer

FRONT_END = ["https://app.consulting.test"]


@pytest.fixture(autouse=True)
def production(settings, tmp_path):
    """Settings of which no check warns."""
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.TRUSTED_PROXY_COUNT = 1
    settings.COOKIE_SECURE = True
    settings.FRONTEND_URL = "https://app.consulting.test"
    settings.CORS_ALLOWED_ORIGINS = FRONT_END
    settings.SERVICE_URL = settings.JWT_ISSUER = "https://api.consulting.test"
    settings.EMAIL_BACKEND = "mail.smtp.SmtpBackend"
    settings.ALLOWED_HOSTS = ["api.consulting.test", "localhost"]
    settings.SECRET_KEY = PRODUCTION["SECRET_KEY"]
    settings.RATE_LIMIT_CREDENTIAL = 10
    settings.STAFF_SECOND_FACTOR = settings.PASSWORD_REJECT_COMMON = True


def warning_ids():
    """The ids of the warnings of a deployment check."""
    messages = run_checks(tags=["security"], include_deployment_checks=True)
    spoken = [message for message in messages if not message.is_silenced()]
    ours = [message for message in spoken if not str(message.id).startswith("security.")]
    assert all(message.hint for message in ours)
    return [str(message.id) for message in spoken]


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("FRONTEND_URL", "http://app.consulting.test", "accounts.W002"),
        ("JWT_ISSUER", "consulting-management", "accounts.W009"),
        ("EMAIL_BACKEND", "django.core.mail.backends.console.EmailBackend", "accounts.W005"),
        ("EMAIL_BACKEND", "django.core.mail.backends.filebased.EmailBackend", "accounts.W005"),
        ("ALLOWED_HOSTS", ["*"], "accounts.W006"),
        ("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], "accounts.W006 accounts.W012"),
        ("STAFF_SECOND_FACTOR", False, "accounts.W010"),
        ("PASSWORD_REJECT_COMMON", False, "accounts.W011"),
        ("PASSKEYS_RP_ID", "example.com", "accounts.E003"),
        ("DEBUG", True, "security.W018"),
        ("SECRET_KEY", "short", "security.W009"),
        ("REDIS_URL", "", "throttling.W001"),
        ("SECRET_KEY", "replace-this-by-what-openssl-rand-base64-48-gives-you", "accounts.E003"),
        ("FRONTEND_URL", "https://app.consulting.tset", "accounts.W013"),
        ("ALLOWED_HOSTS", ["api.consulting.tset"], "accounts.W012"),
        ("MISSPELT_NAMES", {"STAFF_SECOND_FACTR": "STAFF_SECOND_FACTOR"}, "accounts.W015"),
        ("CORS_ALLOWED_ORIGINS", [*FRONT_END, "https://app.example.com"], "accounts.E003"),
        ("ALLOWED_HOSTS", ["api.consulting.test", "api.example.com"], "accounts.E003"),
        ("EMAIL_HOST", "mail.example.com", "accounts.E003"),
        ("DEFAULT_FROM_EMAIL", "no-reply@example.com", "accounts.E003"),
        ("TRUSTED_PROXY_COUNT", 0, "throttling.W002"),
        ("BIND", ipaddress.ip_address("0.0.0.0"), "throttling.W007"),
        ("BIND", ipaddress.ip_address("::"), "throttling.W007"),
        ("BIND", ipaddress.ip_address("93.184.216.34"), "throttling.W007"),
        ("RATE_LIMIT_PUBLIC", 9, "throttling.W003"),
        ("RATE_LIMIT_DRY_RUN", ["public"], "throttling.W009"),
        ("REDIS_URL", "redis://redis.consulting.test/0", "throttling.W008"),
        ("REDIS_URL", "redis+sentinel://:p@127.0.0.1:1,127.0.0.1:2/mymaster/0", "throttling.W008"),
    ],
)
def test_check_reports_unsafe_settings(settings, setting, value, expected):
    settings.WEB_CONCURRENCY = 2
    setattr(settings, setting, value)

    assert sorted(warning_ids()) == expected.split()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            dict.fromkeys(["SERVICE_URL", "JWT_ISSUER"], "http://api.consulting.test"),
            "accounts.W008",
        ),
        # The front-end stands beside the service.
        ({"CORS_ALLOWED_ORIGINS": [], "FRONTEND_URL": "https://api.consulting.test/app"}, ""),
        # No assistant looks for the issuer.
        ({"ASSISTANTS": False, "JWT_ISSUER": "consulting-management"}, ""),
    ],
)
def test_check_looks_at_settings_together(settings, values, expected):
    for setting, value in values.items():
        setattr(settings, setting, value)

    assert warning_ids() == expected.split()


@pytest.mark.parametrize("name", ["PGPASSFILE", "DATA_DIR"])
def test_check_reports_a_missing_path(monkeypatch, name):
    monkeypatch.setenv(name, "/nowhere")

    assert warning_ids() == ["accounts.W014"]


@pytest.mark.live
def test_accepted_warning_is_silent_and_others_are_not(tmp_path):
    environment = PRODUCTION | {"JWT_ISSUER": "consulting-management", "REDIS_URL": ""}
    environment["SILENCED_SYSTEM_CHECKS"] = "accounts.W009,throttling.W006"
    accepted = check_deploy(tmp_path, **environment)
    reachable = check_deploy(tmp_path, **environment, BIND="::")

    assert "throttling.W001" in accepted.stderr
    assert "throttling.W007" in reachable.stderr
    assert "accounts.W009" not in accepted.stderr
    environment["REDIS_URL"] = PRODUCTION["REDIS_URL"]
    assert check_deploy(tmp_path, **environment).returncode == 0


@pytest.mark.live
def test_check_reports_misspelt_variables(tmp_path):
    misspelt = {"RATE_LIMIT_CREDENTAL": "5", "REDIS_URI_FILE": "/x", "PGPASFILE": "/x"}
    done = check_deploy(tmp_path, **PRODUCTION, **misspelt, LANG="C", HOSTNAME="web1", POST="x")

    suggestions = re.findall(
        r"\(accounts.W015\) (\w+) is unknown. Did you mean (\w+)\?", done.stderr
    )
    assert suggestions == [
        ("PGPASFILE", "PGPASSFILE"),
        ("RATE_LIMIT_CREDENTAL", "RATE_LIMIT_CREDENTIAL"),
        ("REDIS_URI", "REDIS_URL"),
    ]


def test_deploy_check_asks_the_named_servers(tmp_path, new_database):
    away = "127.0.0.1:1"
    wrong = {
        "DATABASE_URL": f"postgres://consulting:hunter2@{away}/consulting",
        "REDIS_URL": f"redis://:hunter2@{away}/0",
        "EMAIL_URL": f"smtp://user:hunter2@{away}",
    }
    right = {"DATABASE_URL": new_database(), "REDIS_URL": servers.REDIS.url}
    mails = MailServer()
    mails.start()
    right["EMAIL_URL"] = f"smtp://127.0.0.1:{mails.port}"
    content = check_deploy(tmp_path, "--database", "default", **PRODUCTION | right)
    mails.stop()
    unasked = check_deploy(tmp_path, **PRODUCTION | wrong)
    refused = check_deploy(tmp_path, "--database", "default", **PRODUCTION | wrong)

    assert "E001" not in content.stderr + unasked.stderr
    named = re.findall(r"\(backoffice.E001\) The server of (\w+) does not", refused.stderr)
    assert sorted(named) == sorted(wrong)
    assert "hunter2" not in refused.stderr


def test_check_reports_a_remote_database_without_redis(settings, monkeypatch):
    settings.REDIS_URL = None
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "db.consulting.test")

    assert warning_ids() == ["throttling.W006"]


@pytest.mark.live
@pytest.mark.parametrize(
    ("engine", "expected"),
    [("config.postgresql", ["accounts.W007"]), ("django.db.backends.sqlite3", ["accounts.W004"])],
)
def test_check_warns_of_a_generated_secret(settings, monkeypatch, tmp_path, engine, expected):
    settings.DATA_DIR = tmp_path
    (tmp_path / "secret_key").write_text(f"{settings.SECRET_KEY}\n")
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", engine)

    assert warning_ids() == expected


def check_deploy(tmp_path, *options, **environment):
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    process_environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)} | environment
    return subprocess.run(
        [*command, *options], env=process_environment, capture_output=True, text=True, check=False
    )


def example_environment():
    """deploy/environment.example as it stands."""
    lines = Path("deploy/environment.example").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("=", 1) for line in lines if line and not line.startswith("#")]
    return {name: value.strip('"') for name, value in pairs}  # as systemd and the shell read them


@pytest.mark.live
def test_example_environment_is_refused_until_it_is_filled_in(tmp_path):
    example = example_environment()
    filled = {name: value.replace("example.com", "company.test") for name, value in example.items()}
    filled |= {"SECRET_KEY": PRODUCTION["SECRET_KEY"], "DATA_DIR": str(tmp_path)}
    filled |= {"METRICS_TOKEN": "what Prometheus brings", "PGPASSFILE": str(tmp_path / "pgpass")}
    (tmp_path / "pgpass").touch()

    refused, content = check_deploy(tmp_path, **example), check_deploy(tmp_path, **filled)

    assert refused.returncode == 1
    assert refused.stderr.count("(accounts.E003)") == 11
    assert content.returncode == 0, content.stderr


@pytest.mark.live
def test_command_refuses_the_embedded_default(tmp_path):
    done = check_deploy(tmp_path)

    assert done.returncode == 1
    for number in (2, 4, 5, 6):
        assert f"accounts.W00{number}" in done.stderr


@pytest.mark.parametrize(
    ("processes", "pooler", "is_said"),
    [(2, False, False), (1000, False, True), (1000, True, False)],
)
def test_check_warns_of_too_few_connections(db, settings, monkeypatch, processes, pooler, is_said):
    settings.LIMITER_PROCESSES = processes
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", pooler)
    messages = run_checks(tags=["database"], include_deployment_checks=True, databases=["default"])

    assert ("backoffice.W003" in {message.id for message in messages}) == is_said
