"""`manage.py changepassword`: the user is notified, and nothing else of them changes."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from audit.models import AuditEvent, Kind
from mail.outbox import OutgoingMail
from tests.clients import API
from tests.mailbox import mailed
from tests.races import race

pytestmark = pytest.mark.django_db
NEW = "a new one, quite long"


@pytest.fixture
def typed(monkeypatch):
    """What is typed at the prompt."""
    return lambda text: monkeypatch.setattr("getpass.getpass", lambda *prompt: text)


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Our support team set a new password"),
     ("de", "unser Support hat ein neues Passwort"),
     ("sv", "Vår support har angett ett nytt lösenord")],
)  # fmt: skip
def test_owner_is_notified_of_the_new_password(bob, as_bob, typed, language, words):
    User.objects.filter(pk=bob.pk).update(language=language)
    typed(NEW)
    call_command("changepassword", bob.email)

    assert words in " ".join(mailed().body.split())
    assert AuditEvent.objects.get().kind == Kind.PASSWORD_CHANGED
    assert as_bob.get("/auth/me").status_code == 401
    assert API().post("/auth/login", {"email": bob.email, "password": NEW}).status_code == 200


@pytest.mark.parametrize(("email", "text"), [("nobody@example.com", NEW), ("bob@example.com", "x")])
def test_refused_password_sends_and_records_nothing(bob, typed, email, text):
    typed(text)

    with pytest.raises(CommandError):
        call_command("changepassword", email)
    assert not OutgoingMail.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_change_of_others_during_the_prompt_stays(bob, monkeypatch):
    def typed(*prompt):
        race(lambda: User.objects.filter(pk=bob.pk).update(is_active=False))  # needs no lock
        return NEW

    monkeypatch.setattr("getpass.getpass", typed)
    call_command("changepassword", bob.email)

    bob.refresh_from_db()
    assert bob.check_password(NEW)
    assert not bob.is_active


def test_address_that_passes_to_somebody_during_the_prompt_changes_nothing(bob, ada, monkeypatch):
    def typed(*prompt):
        User.objects.filter(pk=bob.pk).update(email="bob@example.org")
        User.objects.filter(pk=ada.pk).update(email="bob@example.com")
        return NEW

    monkeypatch.setattr("getpass.getpass", typed)
    with pytest.raises(CommandError):
        call_command("changepassword", "bob@example.com")
    assert not User.objects.get(pk=ada.pk).check_password(NEW)
