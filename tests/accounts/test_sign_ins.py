"""The time of a user's last sign-in, as the company's admins see it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from accounts import tokens
from accounts.models import User
from audit.models import AuditEvent, Kind
from tests.accounts.helpers import signed_in
from tests.cast import PASSWORD
from tests.mailbox import mailed_token
from tests.races import close_connections, is_waited_for
from tests.servers import wait_until

pytestmark = pytest.mark.django_db


def not_signed_in_for(api, days):
    moment = (timezone.now() - timedelta(days=days)).isoformat()
    answer = api.get("/users", data={"not_signed_in_since": moment})
    assert answer.status_code == 200, answer.content
    return sorted(user["email"].partition("@")[0] for user in answer.json()["items"])


def last_sign_in(api, user):
    return api.get(f"/users/{user.pk}").json()["last_sign_in_at"]


def test_admin_sees_the_time_of_a_log_in(as_ada, api, bob):
    assert last_sign_in(as_ada, bob) is None
    api.post("/auth/login", {"email": bob.email, "password": PASSWORD})

    event = AuditEvent.objects.get(kind=Kind.LOGIN_SUCCEEDED)
    item = as_ada.get("/users?search=bob").json()["items"][0]
    assert last_sign_in(as_ada, bob) == item["last_sign_in_at"]
    assert item["last_sign_in_at"].startswith(event.at.isoformat()[:19])


@pytest.mark.django_db(transaction=True)
def test_time_of_a_log_in_is_stored_before_its_event(api, bob):
    """Who reads the event looks the user up."""

    def log_in():
        try:
            return api.post("/auth/login", {"email": bob.email, "password": PASSWORD})
        finally:
            close_connections()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            User.objects.select_for_update(no_key=True).get(pk=bob.pk)
            answer = threads.submit(log_in)
            wait_until(lambda: answer.done() or is_waited_for())
            is_recorded = AuditEvent.objects.filter(kind=Kind.LOGIN_SUCCEEDED).exists()
        assert (answer.result().status_code, is_recorded) == (200, False)
    assert AuditEvent.objects.filter(kind=Kind.LOGIN_SUCCEEDED).exists()


def test_new_password_by_link_counts_as_a_sign_in(as_ada, api, bob):
    api.post("/password-changes", {"email": bob.email})
    body = {"token": mailed_token(), "password": "another password"}
    assert api.post("/password-changes/redeem", body).status_code == 200

    assert last_sign_in(as_ada, bob) is not None


def test_refresh_does_not_count_as_a_sign_in(as_ada, api, bob):
    api.post("/auth/refresh", {"refresh_token": str(tokens.issue_pair(bob)[1])})

    assert last_sign_in(as_ada, bob) is None


def test_change_of_a_user_answers_with_the_last_sign_in(as_ada, bob):
    signed_in(bob, 1)

    assert as_ada.patch(f"/users/{bob.pk}", {"role": "admin"}).json()["last_sign_in_at"]


def test_users_are_filtered_by_their_last_sign_in(as_ada, ada, bob, new_user):
    new_user("never@example.com", account=ada.account)
    signed_in(ada, 1)
    signed_in(bob, 20)

    assert not_signed_in_for(as_ada, 30) == ["never"]
    assert not_signed_in_for(as_ada, 10) == ["bob", "never"]
    assert not_signed_in_for(as_ada, 0) == ["ada", "bob", "never"]
    never, ever = (as_ada.get(f"/users?signed_in={has}").json() for has in ("false", "true"))
    assert [user["email"] for user in never["items"]] == ["never@example.com"]
    assert ever["total"] == 2
