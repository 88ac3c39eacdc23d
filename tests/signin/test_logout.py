"""POST /auth/logout and /auth/logout-everywhere."""

import pytest

from accounts import tokens
from tests.cast import PASSWORD
from tests.clients import API, bearer

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/auth/logout", "/auth/logout-everywhere"])
def test_log_out_clears_the_refresh_cookie_with_its_own_attributes(as_ada, path):
    answer = as_ada.post(path)

    cookie = answer.cookies["service_refresh"]
    assert (answer.status_code, answer.content) == (204, b"")
    assert (cookie.value, cookie["max-age"], cookie["path"]) == ("", 0, "/auth")
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")


def test_log_out_after_the_session_has_ended_clears_the_refresh_cookie(as_ada):
    """Else a browser whose access token has expired could not get rid of it."""
    as_ada.post("/auth/logout-everywhere")
    as_ada.cookies["service_refresh"] = "of the session that has ended"

    answer = as_ada.post("/auth/logout")

    cookie = answer.cookies["service_refresh"]
    assert (answer.status_code, answer.json()) == (401, {"error": "missing or invalid token"})
    assert (cookie.value, cookie["max-age"], cookie["path"]) == ("", 0, "/auth")


def test_log_out_everywhere_leaves_the_cookie_for_a_refresh_after_a_401(api, ada):
    api.cookies["service_refresh"] = str(tokens.issue_pair(ada)[1])

    answer = api.post("/auth/logout-everywhere")

    assert (answer.status_code, len(answer.cookies)) == (401, 0)
    access = api.post("/auth/refresh").json()["access_token"]
    headers = {"authorization": f"Bearer {access}"}
    assert api.post("/auth/logout-everywhere", headers=headers).status_code == 204


def test_access_token_outlives_a_logout(as_ada):
    as_ada.post("/auth/logout")

    assert as_ada.get("/auth/me").status_code == 200


def test_log_out_everywhere_ends_every_session_of_that_user_alone(as_ada, ada, as_bob, api):
    login = api.post("/auth/login", {"email": "ada@example.com", "password": PASSWORD}).json()

    as_ada.post("/auth/logout-everywhere")

    assert as_ada.get("/auth/me").status_code == 401
    assert bearer(ada).get("/auth/me").status_code == 200
    assert as_bob.get("/auth/me").status_code == 200
    assert API().post("/auth/refresh", {"refresh_token": login["refresh_token"]}).status_code == 401
