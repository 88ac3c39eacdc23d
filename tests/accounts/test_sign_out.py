"""POST /users/{id}/sign-out: an admin ends a colleague's sessions."""

import pytest

from audit.models import AuditEvent, Kind
from tests.cast import PASSWORD
from tests.clients import bearer

pytestmark = pytest.mark.django_db


def test_admin_ends_sessions_of_a_colleague_and_the_event_says_who(as_ada, as_bob, api, ada, bob):
    login = api.post("/auth/login", {"email": bob.email, "password": PASSWORD}).json()

    answer = as_ada.post(f"/users/{bob.pk}/sign-out")

    assert (answer.status_code, answer.content) == (204, b"")
    assert as_bob.get("/auth/me").status_code == 401
    refresh = {"refresh_token": login["refresh_token"]}
    assert api.post("/auth/refresh", refresh).status_code == 401
    assert bearer(bob).get("/auth/me").status_code == 200  # and can sign in again
    event = AuditEvent.objects.get(kind=Kind.LOGOUT_EVERYWHERE)
    assert (event.actor_email, event.subject) == (ada.email, bob.email)
    assert event.account_id == ada.account_id


def test_admin_may_sign_themselves_out(as_ada, ada):
    assert as_ada.post(f"/users/{ada.pk}/sign-out").status_code == 204
    assert as_ada.get("/auth/me").status_code == 401
