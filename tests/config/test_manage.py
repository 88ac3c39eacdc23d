"""`manage.py` without a terminal, without its database, and with an argument that is no text."""

import os
import re
import subprocess
import sys
import uuid

import pytest

from tests.services import query

pytestmark = pytest.mark.live

REFUSED = "CommandError: (There was no answer|This command .*needs a terminal)"


@pytest.fixture(scope="module")
def service(new_shared_service):
    return new_shared_service().add_operator()


def failed(service, *arguments, closed=False):
    """The error lines of a command that fails without a terminal. `closed` closes its stdin."""
    close = {"preexec_fn": lambda: os.close(0)} if closed else {}
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=service.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,
        **close,
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    return done.stderr.decode().splitlines()


def test_question_without_a_terminal_ends_in_one_line(service):
    url = service.environment["DATABASE_URL"]
    company = uuid.uuid4()
    columns = "id, name, created_at, second_factor, is_operators"
    values = "%s, 'Engines', now(), 'optional', false"
    query(url, f"INSERT INTO accounts_account ({columns}) VALUES ({values})", company)
    for command in (
        ["erase", "ada@example.com"],
        ["deletecompany", str(company)],
        ["changepassword", "ada@example.com"],
        ["createsuperuser"],
        ["afterrestore"],
    ):
        assert re.search(REFUSED, failed(service, *command)[-1])
    assert re.search(REFUSED, failed(service, "erase", "ada@example.com", closed=True)[-1])
    assert query(url, "SELECT count(*) FROM accounts_user") == [(1,)]


def test_argument_that_is_no_text_ends_in_one_line(service):
    assert failed(service, "erase", b"\xff@example.com") == ["Arguments must be in UTF-8."]


def test_unreachable_database_ends_in_one_line(service, monkeypatch):
    monkeypatch.setitem(service.environment, "DATABASE_URL", "postgres://x@127.0.0.1:1/x")

    (line,) = failed(service, "locks")
    assert re.match("Database error: .* failed: Connection refused$", line)


def test_unreachable_mail_server_ends_in_one_line(service, monkeypatch):
    monkeypatch.setitem(service.environment, "EMAIL_URL", "smtp://127.0.0.1:1")

    (line,) = failed(service, "sendtestemail", "ada@example.com")
    assert re.match("ConnectionRefusedError: .*Connection refused$", line)
