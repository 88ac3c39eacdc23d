"""Links that were mailed, and what to send with them."""

from typing import Any

import pytest
from django.utils import timezone

from signin.models import SignupLink
from tests.conftest import PASSWORD

PERSON: dict[str, Any] = {
    "account_name": "Difference Engines",
    "first_name": "Charles",
    "last_name": "Babbage",
    "password": PASSWORD,
}


@pytest.fixture
def signup_link(db: None) -> SignupLink:
    link = SignupLink.objects.create(email="charles@example.com")
    link.mail_was_sent(timezone.now())
    return SignupLink.objects.get()
