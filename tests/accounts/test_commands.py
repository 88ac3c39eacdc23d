"""Commands of operators: signout, locks and prune, and the invalid arguments of others."""

import datetime
import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Account, User
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from signin.models import SignupLink
from tests.accounts.helpers import run
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


def test_signout_ends_the_sessions_of_one_user(capsys, as_bob, as_eve):
    assert run(capsys, "signout", "Bob@example.com") == "Users signed out everywhere: 1.\n"

    assert as_bob.get("/auth/me").status_code == 401
    assert as_eve.get("/auth/me").status_code == 200
    assert AuditEvent.objects.get().subject == "bob@example.com"


def test_signout_of_a_user_who_is_erased_meanwhile_says_so(bob, monkeypatch):
    sign_out = User.sign_out

    def sign_out_after_erasure(user, actor):
        User.objects.filter(pk=user.pk).delete()
        sign_out(user, actor)

    monkeypatch.setattr(User, "sign_out", sign_out_after_erasure)

    with pytest.raises(CommandError, match="No user has the address"):
        call_command("signout", "bob@example.com")


def test_signout_everybody_ends_all_sessions(capsys, as_bob, as_eve):
    assert run(capsys, "signout", "--everybody") == "Users signed out everywhere: 3.\n"

    assert as_bob.get("/auth/me").status_code == as_eve.get("/auth/me").status_code == 401
    assert AuditEvent.objects.get().subject == "everybody"


@pytest.mark.parametrize(
    "arguments",
    [
        ["signout"],
        ["signout", "nobody@example.com"],
        ["signout", "a@example.com", "--everybody"],
        ["createcompany", "Engines"],
        ["createcompany", "Engines", "ada@example.com", "--language", "xx"],
        ["invite", "Engines"],
        ["invite", "Engines", "ada@example.com", "--role", "king"],
        ["prune", "everything"],
        ["locks", "--what"],
    ],
)
def test_wrong_arguments_of_commands_end_with_one_line(arguments):
    with pytest.raises(CommandError):
        call_command(*arguments)


COMPANY = "Analytical Engines"  # of Ada and Bob; Charles is invited


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["createcompany", "Engines", "root@localhost"], "valid email"),
        (["createcompany", "", "new@example.com"], "cannot be blank"),
        (["createcompany", "See www.evil.test", "new@example.com"], "contain links"),
        (["createcompany", "Engines", "ada"], "valid email"),
        (["createcompany", "Engines", "bob@example.com"], "already registered"),
        (["invite", COMPANY, "no address"], "valid email"),
        (["invite", COMPANY, "ada@example.com"], "already a member"),
        (["invite", COMPANY, "charles@example.com"], "already invited"),
        (["invite", "Nobody's", "new@example.com"], "No company"),
        (["invite", "Twins", "new@example.com"], "Give the id"),
        (["changeemail", "nobody@example.com", "new@example.com"], "No user has"),
        (["changeemail", "bob@example.com", "x"], "not a valid e-mail"),
        (["changeemail", "bob@example.com", "ada@example.com"], "already registered"),
        (["changeemail", "bob@example.com", "BOB@example.com"], "address already"),
        (["factors", "nobody@example.com"], "No user has"),
    ],
)
def test_refused_command_says_why_and_changes_nothing(bob, invitation, arguments, reason):
    for _ in range(2):
        Account.objects.create(name="Twins")

    def counts():
        return [model.objects.count() for model in (Account, Invitation, OutgoingMail, AuditEvent)]

    before = counts()
    with pytest.raises(CommandError, match=reason):
        call_command(*arguments)
    assert counts() == before


def test_locks_lists_locked_addresses(capsys, settings):
    settings.LOCKOUT_THRESHOLD = 2
    for email in ("ada@example.com", "ada@example.com", "bob@example.com"):
        Lockout.objects.record_failure(email)

    assert json.loads(run(capsys, "locks", "--json"))["email"] == "ada@example.com"
    lines = run(capsys, "locks", "--all").splitlines()
    assert lines[0].startswith("ada@example.com: 2 failures, locked until")
    assert lines[1] == "bob@example.com: 1 failures, not locked, refused 0 times"


def test_locks_says_that_no_address_is_locked(capsys):
    assert run(capsys, "locks") == "No address is locked.\n"
    assert run(capsys, "locks", "--json") == ""


def test_prune_deletes_rows_past_their_keeping_time(capsys):
    long_ago = timezone.now() - datetime.timedelta(days=500)
    for state in (MailState.SENT, MailState.READY):
        OutgoingMail.objects.create(email="a@example.com", state=state, created_at=long_ago)
    OutgoingMail.objects.create(email="a@example.com", state=MailState.SENT)
    SignupLink.objects.create(email="a@example.com", expires_at=long_ago)
    SignupLink.objects.create(email="a@example.com")
    AuditEvent.objects.create(kind="login.failed", at=long_ago)

    lines = run(capsys, "prune").splitlines()
    assert {line for line in lines if not line.endswith(": 0 deleted")} == {
        "sign-up links: 1 deleted",
        "outgoing mail: 1 deleted",
        "audit events: 1 deleted",
    }
    assert OutgoingMail.objects.count() == 2
    assert "audit events: 0 deleted" in run(capsys, "prune")
