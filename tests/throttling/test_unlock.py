"""Operators list and end lockouts: the commands locks and unlock, and the admin site."""

import json

import pytest
from django.core.management import call_command

from base.caller import Caller, current_caller
from signin.credentials import Attempt
from tests.throttling.helpers import ADA
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

LOCKOUTS = "/admin/throttling/lockout/"


@pytest.mark.parametrize(
    ("argument", "email"),
    [
        ("  Ada@Example.COM ", "ada@example.com"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    ],
)
def test_unlock_takes_any_spelling_of_an_address(capsys, argument, email):
    Lockout.objects.record_failure(email)
    call_command("unlock", argument)

    assert capsys.readouterr().out == f"{email} can sign in again.\n"
    assert not Lockout.objects.exists()


def test_admin_site_finds_a_locked_address(guessed, operator):
    answer = operator.get(LOCKOUTS, {"q": "ada@"})

    assert guessed in answer.content.decode()
    assert ">Locked<" in answer.content.decode()
    assert "0 lockouts" in operator.get(LOCKOUTS, {"q": "eve@"}).content.decode()


@pytest.fixture
def guessed(api, db):
    """An address locked by failures from 203.0.113.7. Another address has failed once, from
    198.51.100.9."""
    for email, client in [(ADA, "203.0.113.7")] * 5 + [("bob@example.com", "198.51.100.9")]:
        token = current_caller.set(Caller(client))
        Attempt(email).record_failure()
        current_caller.reset(token)
    return ADA


def test_locks_lists_client_addresses_of_failed_attempts(guessed, capsys):
    call_command("locks")
    text = capsys.readouterr().out
    call_command("locks", "--json")
    line = json.loads(capsys.readouterr().out)

    assert text.splitlines()[1] == "    5 from 203.0.113.7"
    assert (line["email"], line["sources"], line["refusals"]) == (guessed, {"203.0.113.7": 5}, 0)
    Lockout.objects.update(locked_until="2026-01-01T00:00Z")
    call_command("locks", "--all")
    assert f"{guessed}: 5 failures, not locked" in capsys.readouterr().out


def test_admin_site_shows_client_addresses_of_failed_attempts(guessed, operator):
    lockout = Lockout.objects.get(email=guessed)
    assert "203.0.113.7: 5" in operator.get(f"{LOCKOUTS}{lockout.pk}/change/").content.decode()
