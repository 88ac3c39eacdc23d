"""`manage.py afterrestore` ends the sessions, links and connected apps of a restored backup."""

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from assistants.models import Grant
from audit.models import AuditEvent, Kind
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation, Status
from keys.models import SigningKey
from mail.links import EmailedLink
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from signin.models import SignupLink, UnlockLink
from tests.assistants.conftest import assistant, client, pair, refresh, send
from tests.authority.world import undone
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.signin.factors.helpers import log_in, with_app
from tests.tables import compare
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
__all__ = ["assistant", "client", "pair"]

NAMES = {"first_name": "A", "last_name": "B", "password": PASSWORD}
# By kind of link: how it is made for a user, and the path and body of the call that redeems it.
LINKS = {
    SignupLink: (
        lambda user: SignupLink.objects.create(email="new@example.com"),
        "/auth/complete-signup",
        NAMES | {"account_name": "New"},
    ),
    Invitation: (
        lambda user: Invitation.objects.invite(user, "charles@example.com"),
        "/invitations/accept",
        NAMES,
    ),
    PasswordChange: (
        lambda user: PasswordChange.objects.create(user=user, email=user.email),
        "/password-changes/redeem",
        {"password": "another password"},
    ),
    EmailChange: (
        lambda user: EmailChange.objects.create(
            user=user, email="n@example.com", old_email=user.email
        ),
        "/email-changes/redeem",
        {},
    ),
    UndoEmailChange: (
        lambda user: UndoEmailChange.objects.create(
            user=user, email="o@example.com", new_email=user.email
        ),
        "/email-changes/undo",
        {},
    ),
    UnlockLink: (
        lambda user: UnlockLink.objects.create(user=user, email=user.email),
        "/lockouts/redeem",
        {},
    ),
}


def run_command(capsys):
    call_command("afterrestore", "--yes")
    lines = capsys.readouterr().out.removesuffix(" ended\n").split(" ended\n")
    return {name: int(count) for name, count in (line.rsplit(": ", 1) for line in lines)}


def test_table_of_links_is_complete():
    kinds = {model for model in apps.get_models() if issubclass(model, EmailedLink)}
    compare(LINKS.keys(), kinds, "add the kind of link to LINKS here, so that a restore is tried")


@pytest.mark.parametrize("kind", LINKS)
def test_restored_link_no_longer_works_and_is_not_mailed(kind, ada, capsys, settings, mailoutbox):
    settings.DEVICE_LOCKOUT = True
    make, path, body = LINKS[kind]
    link = make(ada)
    OutgoingMail.objects.filter(link_id=link.pk).delete()
    OutgoingMail.objects.queue_link(link)

    counts = run_command(capsys)

    assert counts[str(kind._meta.verbose_name_plural)] == 1
    assert bearer(ada).post(path, body | {"token": link.token}).status_code == 400
    event = AuditEvent.objects.get(kind=Kind.RESTORED)
    assert (event.subject, event.detail) == ("everybody", counts)
    Worker().work_round()
    assert mailoutbox == []
    assert OutgoingMail.objects.get().state == MailState.DROPPED


def test_restored_sessions_and_grants_end(ada, as_ada, as_eve, operator, request):
    app = request.getfixturevalue("assistant")
    tokens = request.getfixturevalue("pair")
    assert operator.get("/admin/").status_code == 200
    counts = run_command(request.getfixturevalue("capsys"))

    assert (counts["connected apps"], counts["users' sessions"]) == (1, 3)
    assert operator.get("/admin/").status_code == 302
    assert [it.get("/auth/me").status_code for it in (as_ada, as_eve)] == [401, 401]
    assert send(app, "tools/list").status_code == 401
    grant = Grant.objects.get(ended_at__isnull=False)
    assert refresh(API(), grant.client, tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_afterrestore_keeps_factors_and_recovery_codes(api, ada, capsys):
    """They may be the only way to sign in, such as if SECRET_KEY is lost as well."""
    used_code = with_app(ada)[0]
    with undone():  # it is not in the backup
        assert log_in(api, ada, code=used_code)[0] == 200

    run_command(capsys)

    assert log_in(api, ada, code=used_code)[0] == 200


def test_second_run_ends_sessions_only(ada, capsys):
    for make, _, _ in LINKS.values():
        make(ada)
    run_command(capsys)

    assert {name for name, count in run_command(capsys).items() if count} == {"users' sessions"}


def test_ended_invitation_can_be_sent_again(ada, as_ada, capsys):
    invitation = Invitation.objects.invite(ada, "charles@example.com")

    run_command(capsys)

    invitation.refresh_from_db()
    assert invitation.status == Status.EXPIRED
    invitation.resend(ada)
    assert invitation.status == Status.PENDING


@pytest.mark.parametrize("answer", ["y", "Yes "])
def test_sessions_end_after_confirmation(as_ada, monkeypatch, answer):
    monkeypatch.setattr("builtins.input", lambda question: answer)
    call_command("afterrestore")

    assert as_ada.get("/auth/me").status_code == 401


@pytest.mark.parametrize(
    ("options", "answers"), [(["--yes"], []), (["--yes", "--replace-keys"], []), ([], ["y", "y"])]
)
def test_keys_are_replaced_if_asked_for(db, monkeypatch, options, answers):
    monkeypatch.setattr("builtins.input", lambda question: answers.pop(0))
    old_key = SigningKey.objects.publish(0)
    call_command("afterrestore", *options)

    assert SigningKey.objects.filter(kid=old_key.kid).exists() is (options == ["--yes"])
    assert SigningKey.objects.count() == 1


@pytest.mark.parametrize("answer", ["", "n", None])
def test_nothing_ends_without_confirmation(as_ada, monkeypatch, answer):
    def ask(question):
        if answer is None:  # there is no terminal
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", ask)
    with pytest.raises(
        CommandError, match="Nothing was done" if answer is None else "Nothing was ended"
    ):
        call_command("afterrestore")

    assert as_ada.get("/auth/me").status_code == 200
    assert not AuditEvent.objects.filter(kind=Kind.RESTORED).exists()
