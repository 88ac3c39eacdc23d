"""A password-change link that was mailed to Bob."""

import pytest
from django.core import mail

from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from tests.mailbox import mailed_token

NEW = "a brand new password"


@pytest.fixture
def token(bob):
    return new_token(bob)


def new_token(user):
    OutgoingMail.objects.request_mail(PasswordChange, user.email, "en")
    before = len(mail.outbox)
    token = mailed_token()
    assert len(mail.outbox) == before + 1
    return token


def redeem(api, token, password=NEW):
    return api.post("/password-changes/redeem", {"token": token, "password": password})
