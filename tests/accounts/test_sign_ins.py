"""When people last signed in, as their admins see it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import tokens
from audit.models import AuditEvent, Kind
from tests.accounts.helpers import signed_in
from tests.cast import PASSWORD
from tests.mailbox import mailed_token

pytestmark = pytest.mark.django_db


def since(api, days_ago):
    moment = (timezone.now() - timedelta(days=days_ago)).isoformat()
    answer = api.get("/users", data={"not_signed_in_since": moment})
    assert answer.status_code == 200, answer.content
    return sorted(user["email"].partition("@")[0] for user in answer.json()["items"])


def seen(api, user):
    return api.get(f"/users/{user.pk}").json()["last_sign_in_at"]


def test_log_in_is_seen_by_the_admin(as_ada, api, bob):
    assert seen(as_ada, bob) is None
    api.post("/auth/login", {"email": bob.email, "password": PASSWORD})

    record = AuditEvent.objects.get(kind=Kind.LOGIN_SUCCEEDED)
    listed = as_ada.get("/users?search=bob").json()["items"][0]
    assert seen(as_ada, bob) == listed["last_sign_in_at"]
    assert listed["last_sign_in_at"].startswith(record.at.isoformat()[:19])


def test_new_password_by_a_link_is_a_sign_in(as_ada, api, bob):
    api.post("/password-changes", {"email": bob.email})
    body = {"token": mailed_token(), "password": "another password"}
    assert api.post("/password-changes/redeem", body).status_code == 200

    assert seen(as_ada, bob) is not None


def test_refresh_is_not_a_sign_in(as_ada, api, bob):
    api.post("/auth/refresh", {"refresh_token": str(tokens.issue_pair(bob)[1])})

    assert seen(as_ada, bob) is None


def test_change_of_a_user_answers_with_it(as_ada, bob):
    signed_in(bob, 1)

    assert as_ada.patch(f"/users/{bob.pk}", {"role": "admin"}).json()["last_sign_in_at"]


def test_users_are_found_who_have_not_signed_in_since(as_ada, ada, bob, new_user):
    new_user("never@example.com", account=ada.account)
    signed_in(ada, 1)
    signed_in(bob, 20)

    assert since(as_ada, 30) == ["never"]
    assert since(as_ada, 10) == ["bob", "never"]
    assert since(as_ada, 0) == ["ada", "bob", "never"]
    never, ever = (as_ada.get(f"/users?signed_in={has}").json() for has in ("false", "true"))
    assert [user["email"] for user in never["items"]] == ["never@example.com"]
    assert ever["total"] == 2
