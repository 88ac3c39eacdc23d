"""The cast: an admin, a member, another company's admin, and what was mailed to strangers."""

import uuid

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client
from django.utils import timezone

from accounts.models import Account, Role, User
from invitations.models import Invitation
from signin.models import SignupLink

PASSWORD = "correct horse battery"  # every member of the cast's


@pytest.fixture(scope="session")
def password_hash(cheap_hashes):
    """One hash for the whole cast."""
    return make_password(PASSWORD)


@pytest.fixture
def new_user(db, password_hash):
    def make(email=None, **fields):
        fields.setdefault("account", None)
        fields["account"] = fields["account"] or Account.objects.create(name="Analytical Engines")
        fields = {"first_name": "Some", "last_name": "Body", "password": password_hash} | fields
        email = email or f"{uuid.uuid4().hex[:12]}@example.com"
        return User.objects.create(email=email, **fields)

    return make


@pytest.fixture
def ada(new_user):
    """The admin of a company."""
    return new_user("ada@example.com", first_name="Ada", last_name="Lovelace", role=Role.ADMIN)


@pytest.fixture
def bob(new_user, ada):
    """A member of Ada's company."""
    return new_user("bob@example.com", first_name="Bob", last_name="Boole", account=ada.account)


@pytest.fixture
def eve(new_user):
    """The admin of another company."""
    account = Account.objects.create(name="Eavesdroppers")
    return new_user("eve@example.org", first_name="Eve", role=Role.ADMIN, account=account)


@pytest.fixture
def signup_link(db):
    link = SignupLink.objects.create(email="charles@example.com")
    link.mail_was_sent(timezone.now())
    return SignupLink.objects.get()


@pytest.fixture
def invitation(ada):
    """One that Ada has sent."""
    return Invitation.objects.invite(ada, "charles@example.com")


@pytest.fixture
def operator(db):
    """A browser in which an operator is signed in to the admin site."""
    client = Client()
    client.force_login(User.objects.create_superuser("op@example.com", "an operator's"))
    return client
