"""A mailbox has one spelling before the @: quoted ones are refused."""

import pytest

from mail.outbox import OutgoingMail
from tests.conftest import API

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("email", ['"victim"@example.com', '"v\\\\ictim"@example.com'])
def test_quoted_local_part_is_refused(email):
    assert API().post("/auth/signup", {"email": email}).status_code == 400
    assert not OutgoingMail.objects.exists()
