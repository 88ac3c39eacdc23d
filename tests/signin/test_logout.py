"""POST /auth/logout and /auth/logout-everywhere."""

import pytest

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
