"""Whom a directory has removed comes back by no other way than the directory or an admin."""

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import tokens
from accounts.models import Role, User
from assistants.models import Client, Grant
from invitations.models import Invitation
from passwords.models import PasswordChange
from tests.assistants.conftest import send
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.scim.conftest import Directory, operation
from tests.sso.conftest import Browser, connection, provider, running_provider  # noqa: F401

pytestmark = pytest.mark.django_db
NEW = "new@example.com"


@pytest.fixture
def directory(connection, new_key):  # noqa: F811
    """Of a company with an active provider and its domain."""
    return Directory(new_key()[1])


@pytest.fixture(params=["remove", "deactivate"])
def leave(request, directory):
    """Ends a user in one of a directory's ways."""
    ways = {"remove": directory.remove}
    ways["deactivate"] = lambda user: directory.change(user, operation(False, "active"))
    return ways[request.param]


def test_not_by_an_old_invitation(directory, ada, leave):
    invitation = Invitation.objects.invite(ada, NEW, Role.ADMIN)
    invitation.mail_was_sent(timezone.now())
    directory.create(NEW)
    user = User.objects.get(email=NEW)

    leave(user)

    person = {"first_name": "N", "last_name": "E", "password": PASSWORD}
    answer = API().post("/invitations/accept", {"token": invitation.token} | person)
    assert answer.status_code >= 400
    assert not User.objects.get(email=NEW).is_active
    assert bearer(ada).post("/invitations", {"email": NEW}).status_code == 409


@pytest.mark.parametrize("is_linked", [True, False])
def test_not_by_signing_in_at_the_provider(directory, provider, bob, leave, is_linked):  # noqa: F811
    browser = Browser(provider)
    if is_linked:
        browser.sign_in(sub="2", email=bob.email)

    leave(bob)

    assert Browser(provider).visit(sub="2", email=bob.email) == {"error": "account"}
    assert not User.objects.get(pk=bob.pk).is_active


def test_not_by_a_session_of_the_provider(provider, bob, leave):  # noqa: F811
    session = Browser(provider).sign_in(sub="2", email=bob.email).json()

    leave(bob)

    assert API(authorization=f"Bearer {session['access_token']}").get("/auth/me").status_code == 401
    body = {"refresh_token": session["refresh_token"]}
    assert API().post("/auth/refresh", body).status_code == 401


def test_not_by_a_password_or_its_link(bob, leave):
    link = PasswordChange.objects.create(user=bob, email=bob.email)

    leave(bob)

    body = {"token": link.token, "password": "another long one"}
    assert API().post("/password-changes/redeem", body).status_code >= 400
    assert API().post("/password-changes", {"email": bob.email}).status_code in {200, 202, 204}
    log_in = {"email": bob.email, "password": PASSWORD}
    assert API().post("/auth/login", log_in).status_code == 401


def test_not_by_an_assistants_grant(bob, leave):
    app = Client.objects.create(name="Helper", redirect_uris=["https://helper.example/"])
    grant = Grant.objects.create(user=bob, client=app, token_version=bob.token_version)
    token = grant.token_response()["access_token"]
    assistant = API(authorization=f"Bearer {token}")
    assert send(assistant, "tools/call", name="whoami", arguments={}).status_code == 200

    leave(bob)

    assert send(assistant, "tools/call", name="whoami", arguments={}).status_code == 401
    directory_brings_back = User.objects.filter(pk=bob.pk).update(is_active=True)
    assert directory_brings_back
    assert send(assistant, "tools/call", name="whoami", arguments={}).status_code == 401


def test_not_by_sessions_of_a_restored_backup(directory, bob, leave, new_key):
    """The backup of the day before has the user active. The sessions end by `afterrestore`, and so
    does the directory's key: with a new one the directory removes the user again."""
    session = API(authorization=f"Bearer {tokens.issue_pair(bob)[0]}")
    before = User.objects.values().get(pk=bob.pk)
    leave(bob)
    User.objects.filter(pk=bob.pk).update(**before)

    call_command("afterrestore", "--yes")

    assert session.get("/auth/me").status_code == 401
    assert directory.get("Users").status_code == 401
    again = Directory(new_key()[1])
    assert again.remove(bob).status_code in {204, 404}
