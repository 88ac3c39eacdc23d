"""`manage.py changepassword`: the prompt is Django's; the owner is told, and the trail."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from audit.models import Kind, Record
from mail.outbox import OutgoingMail
from tests.conftest import API, mailed

pytestmark = pytest.mark.django_db
NEW = "a new one, quite long"


@pytest.fixture
def typed(monkeypatch):
    """What is typed at the prompt."""
    path = "django.contrib.auth.management.commands.changepassword.getpass.getpass"
    return lambda text: monkeypatch.setattr(path, lambda **prompt: text)


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
    assert Record.objects.get().kind == Kind.PASSWORD_CHANGED
    assert as_bob.get("/auth/me").status_code == 401
    assert API().post("/auth/login", {"email": bob.email, "password": NEW}).status_code == 200


@pytest.mark.parametrize(("email", "text"), [("nobody@example.com", NEW), ("bob@example.com", "x")])
def test_refused_password_sends_and_records_nothing(bob, typed, email, text):
    typed(text)

    with pytest.raises(CommandError):
        call_command("changepassword", email)
    assert not OutgoingMail.objects.exists()
    assert not Record.objects.exists()
