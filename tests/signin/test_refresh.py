"""POST /auth/refresh."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.test import override_settings
from django.utils import timezone

from accounts import tokens
from accounts.models import User
from tests.conftest import API, close_connections

pytestmark = pytest.mark.django_db

REFUSED = (401, {"error": "invalid or expired refresh token"})


@pytest.fixture
def token(ada: User) -> str:
    return str(tokens.issue(ada)[1])


def refresh(api: API, token: object) -> tuple[int, dict]:
    answer = api.post("/auth/refresh", {"refresh_token": token})
    return answer.status_code, answer.json()


def test_body_token_gives_a_new_pair_and_no_cookie(api: API, token: str, ada: User) -> None:
    status, body = refresh(api, token)

    assert (status, body["user"]["id"]) == (200, str(ada.pk))
    assert body["refresh_token"] != token
    assert not api.cookies


def test_cookie_comes_first_and_is_renewed(api: API, token: str) -> None:
    api.cookies["service_refresh"] = token

    answer = api.post("/auth/refresh", {"refresh_token": "nonsense"})

    assert answer.status_code == 200
    assert api.cookies["service_refresh"].value == answer.json()["refresh_token"]


@pytest.mark.parametrize("body", [None, b"no json", b'{"refresh_token": 7}'])
def test_cookie_needs_no_body(api: API, token: str, body: bytes | None) -> None:
    api.cookies["service_refresh"] = token

    assert api.post("/auth/refresh", body).status_code == 200


@pytest.mark.parametrize("wrong", ["", "nonsense", "a.b.c", "é"])
def test_wrong_token_is_401(api: API, db: None, wrong: str) -> None:
    assert refresh(api, wrong) == REFUSED


def test_no_token_at_all_is_401(api: API, db: None) -> None:
    answer = api.post("/auth/refresh", {})

    assert (answer.status_code, answer.json()) == REFUSED
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("wrong", [7, ["x"], {}, True, None, "a\0", "\ud800"])
def test_token_that_is_no_text_is_400(api: API, db: None, wrong: object) -> None:
    assert refresh(api, wrong)[0] == 400


def test_refused_cookie_is_cleared_with_its_own_attributes(api: API, db: None) -> None:
    api.cookies["service_refresh"] = "nonsense"

    answer = api.post("/auth/refresh")

    cookie = answer.cookies["service_refresh"]
    assert (answer.status_code, cookie.value, cookie["max-age"]) == (401, "", 0)
    assert (cookie["path"], cookie["secure"], cookie["samesite"]) == ("/auth", True, "Lax")


def test_expired_token_is_refused(api: API, token: str) -> None:
    with time_machine.travel(timezone.now() + timedelta(seconds=86400 + 6)):
        assert refresh(api, token) == REFUSED


def test_sign_in_cannot_be_prolonged_past_its_greatest_age(api: API, ada: User) -> None:
    begun = int(time.time()) - 2592000
    young, old = (str(tokens.issue(ada, begun + age)[1]) for age in (60, -60))

    status, body = refresh(api, young)

    assert (status, refresh(api, old)) == (200, REFUSED)
    assert tokens.RefreshToken(body["refresh_token"])["exp"] == begun + 60 + 2592000


@override_settings(SESSION_MAX_SECONDS=100)
def test_lowered_greatest_age_applies_to_tokens_that_are_out(api: API, ada: User) -> None:
    with override_settings(SESSION_MAX_SECONDS=2592000):
        old = str(tokens.issue(ada, int(time.time()) - 101)[1])

    assert refresh(api, old) == REFUSED


@pytest.mark.parametrize("change", [{"is_active": False}, {"token_version": 9}])
def test_user_whose_sessions_ended_cannot_refresh(
    api: API, token: str, ada: User, change: dict
) -> None:
    User.objects.filter(pk=ada.pk).update(**change)

    assert refresh(api, token) == REFUSED


def test_deleted_user_cannot_refresh(api: API, token: str, ada: User) -> None:
    ada.delete()

    assert refresh(api, token) == REFUSED


def test_role_is_the_users_of_now(api: API, token: str, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(role="member")

    _, body = refresh(api, token)

    assert tokens.AccessToken(body["access_token"])["role"] == "member"


@pytest.mark.django_db(transaction=True)
def test_sixteen_refreshes_with_one_token_all_succeed(token: str) -> None:
    def attempt(_: int) -> int:
        status, _body = refresh(API(), token)
        close_connections()
        return status

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(attempt, range(16))) == [200] * 16
