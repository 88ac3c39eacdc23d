"""When people last signed in, as their admins see it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from audit.models import SIGN_INS, Kind, Record
from tests.conftest import PASSWORD, mailed_token

pytestmark = pytest.mark.django_db


def signed_in(user, days_ago, kind=Kind.LOGIN_SUCCEEDED):
    at = timezone.now() - timedelta(days=days_ago)
    Record.objects.create(kind=kind, at=at, actor_id=user.pk, actor_email=user.email)


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

    record = Record.objects.get(kind=Kind.LOGIN_SUCCEEDED)
    listed = as_ada.get("/users?search=bob").json()["items"][0]
    assert seen(as_ada, bob) == listed["last_sign_in_at"]
    assert listed["last_sign_in_at"].startswith(record.at.isoformat()[:19])


def test_new_password_by_a_link_is_a_sign_in(as_ada, api, bob):
    api.post("/password-changes", {"email": bob.email})
    body = {"token": mailed_token(), "password": "another password"}
    assert api.post("/password-changes/redeem", body).status_code == 200

    assert seen(as_ada, bob) is not None


@pytest.mark.parametrize("kind", sorted(set(Kind) - set(SIGN_INS)))
def test_nothing_else_is(as_ada, bob, kind):
    signed_in(bob, 1, kind)

    assert seen(as_ada, bob) is None


def test_change_of_a_user_answers_with_it(as_ada, bob):
    signed_in(bob, 1)

    assert as_ada.patch(f"/users/{bob.pk}", {"role": "admin"}).json()["last_sign_in_at"]


def test_it_is_none_of_the_users_own_business(as_bob, bob):
    assert "last_sign_in_at" not in as_bob.get("/auth/me").json()


def test_users_are_found_who_have_not_signed_in_since(as_ada, ada, bob, new_user):
    new_user("never@example.com", account=ada.account)
    signed_in(ada, 1)
    signed_in(bob, 40)
    signed_in(bob, 20)

    assert since(as_ada, 30) == ["never"]
    assert since(as_ada, 10) == ["bob", "never"]
    assert since(as_ada, 0) == ["ada", "bob", "never"]
    never, ever = (as_ada.get(f"/users?signed_in={has}").json() for has in ("false", "true"))
    assert [user["email"] for user in never["items"]] == ["never@example.com"]
    assert ever["total"] == 2


def test_last_sign_in_outlives_the_trail(as_ada, bob):
    signed_in(bob, 500)
    signed_in(bob, 450)
    before = seen(as_ada, bob)

    assert Record.objects.prune() == 2
    assert seen(as_ada, bob) == before
    assert since(as_ada, 451) == ["ada"]
    assert since(as_ada, 449) == ["ada", "bob"]
    signed_in(bob, 1)
    assert seen(as_ada, bob) > before


def test_kept_time_never_goes_back(bob):
    """As after a pruning that was cut off."""
    signed_in(bob, 450)
    Record.objects.prune()
    kept = User.objects.get(pk=bob.pk).signed_in_at
    signed_in(bob, 500)

    Record.objects.prune()

    assert User.objects.get(pk=bob.pk).signed_in_at == kept
