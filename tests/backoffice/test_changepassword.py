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
NEW_PASSWORD = "a new one, quite long"


@pytest.fixture
def type_password(monkeypatch):
    """Sets the password that is typed at the prompt."""
    return lambda text: monkeypatch.setattr("getpass.getpass", lambda *prompt: text)


@pytest.mark.parametrize(
    ("language", "mail_text"),
    [("en", "Our support team set a new password"),
     ("de", "unser Support hat ein neues Passwort"),
     ("sv", "Vår support har angett ett nytt lösenord")],
)  # fmt: skip
def test_user_is_notified_of_the_new_password(bob, as_bob, type_password, language, mail_text):
    User.objects.filter(pk=bob.pk).update(language=language)
    type_password(NEW_PASSWORD)
    call_command("changepassword", bob.email)

    assert mail_text in " ".join(mailed().body.split())
    assert AuditEvent.objects.get().kind == Kind.PASSWORD_CHANGED
    assert as_bob.get("/auth/me").status_code == 401
    assert (
        API().post("/auth/login", {"email": bob.email, "password": NEW_PASSWORD}).status_code == 200
    )


@pytest.mark.parametrize(
    ("email", "text"), [("nobody@example.com", NEW_PASSWORD), ("bob@example.com", "x")]
)
def test_refused_password_sends_and_records_nothing(bob, type_password, email, text):
    type_password(text)

    with pytest.raises(CommandError):
        call_command("changepassword", email)
    assert not OutgoingMail.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_change_by_another_request_during_the_prompt_stays(bob, monkeypatch):
    def type_password(*prompt):
        race(lambda: User.objects.filter(pk=bob.pk).update(is_active=False))  # needs no lock
        return NEW_PASSWORD

    monkeypatch.setattr("getpass.getpass", type_password)
    call_command("changepassword", bob.email)

    bob.refresh_from_db()
    assert bob.check_password(NEW_PASSWORD)
    assert not bob.is_active


def test_address_that_passes_to_another_user_during_the_prompt_changes_nothing(
    bob, ada, monkeypatch
):
    def type_password(*prompt):
        User.objects.filter(pk=bob.pk).update(email="bob@example.org")
        User.objects.filter(pk=ada.pk).update(email="bob@example.com")
        return NEW_PASSWORD

    monkeypatch.setattr("getpass.getpass", type_password)
    with pytest.raises(CommandError):
        call_command("changepassword", "bob@example.com")
    assert not User.objects.get(pk=ada.pk).check_password(NEW_PASSWORD)
