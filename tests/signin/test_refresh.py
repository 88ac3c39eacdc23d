"""POST /auth/refresh."""

import time

import jwt
import pytest
from django.utils import timezone

from accounts import tokens
from accounts.models import User
from tests.clients import API, signing_key
from tests.races import race

pytestmark = pytest.mark.django_db

REFUSED = (401, {"error": "invalid or expired refresh token"})


@pytest.fixture
def token(ada):
    return str(tokens.issue_pair(ada)[1])


def refresh(api, token):
    answer = api.post("/auth/refresh", {"refresh_token": token})
    return answer.status_code, answer.json()


def test_refresh_token_in_the_body_gives_a_new_pair_and_no_cookie(api, token, ada):
    status, body = refresh(api, token)

    assert (status, body["user"]["id"]) == (200, str(ada.pk))
    assert body["refresh_token"] != token
    assert not api.cookies


def test_refresh_cookie_comes_before_the_body_and_is_renewed(api, token):
    api.cookies["service_refresh"] = token

    answer = api.post("/auth/refresh", {"refresh_token": "nonsense"})

    assert answer.status_code == 200
    assert api.cookies["service_refresh"].value == answer.json()["refresh_token"]


@pytest.mark.parametrize("body", [None, b"no json", b'{"refresh_token": 7}'])
def test_refresh_cookie_needs_no_body(api, token, body):
    api.cookies["service_refresh"] = token

    assert api.post("/auth/refresh", body).status_code == 200


@pytest.mark.parametrize(
    "body", [{}, *({"refresh_token": text} for text in ("", "x", "a.b.c", "é"))]
)
def test_wrong_or_missing_refresh_token_is_401(api, db, body):
    answer = api.post("/auth/refresh", body)

    assert (answer.status_code, answer.json()) == REFUSED
    assert answer["WWW-Authenticate"] == "Bearer"


def sign(user, prefix, **changes):
    """A refresh token with this prefix of the kid and changed claims; None removes a claim."""
    refresh = tokens.issue_pair(user)[1]
    key = signing_key()
    claims = {"iss": "consulting-management", **refresh.payload, **changes}
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key.private, "RS256", {"kid": prefix + key.kid})


AUDIENCE = "consulting-management/auth/refresh"


@pytest.mark.parametrize(
    ("prefix", "claims"),
    [("refresh-", {}), ("refresh-", {"aud": "somebody"}), ("refresh-", {"aud": [AUDIENCE]}),
     ("refresh-", {"aud": AUDIENCE, "token_type": "access"}),
     ("refresh-", {"aud": AUDIENCE, "amr": None}),
     ("refresh-", {"aud": AUDIENCE, "amr": "pwd"}),
     ("refresh-refresh-", {"aud": AUDIENCE}), ("", {"aud": AUDIENCE}),
     ("", {}), ("", {"token_type": "access"})],
)  # fmt: skip
def test_refresh_token_with_another_kid_or_audience_is_refused(api, ada, prefix, claims):
    assert refresh(api, sign(ada, "refresh-", aud=AUDIENCE))[0] == 200

    assert refresh(api, sign(ada, prefix, **claims)) == REFUSED


def test_refused_refresh_cookie_is_cleared_with_its_own_attributes(api, db):
    api.cookies["service_refresh"] = "nonsense"

    answer = api.post("/auth/refresh")

    cookie = answer.cookies["service_refresh"]
    assert (answer.status_code, cookie.value, cookie["max-age"]) == (401, "", 0)
    assert (cookie["path"], cookie["secure"], cookie["samesite"]) == ("/auth", True, "Lax")


def test_session_cannot_be_refreshed_past_its_maximum_age(api, ada):
    begun = int(time.time()) - 2592000
    young, old = (str(tokens.issue_pair(ada, begun + age)[1]) for age in (60, -60))

    status, body = refresh(api, young)

    assert (status, refresh(api, old)) == (200, REFUSED)
    assert tokens.RefreshToken(body["refresh_token"])["exp"] == begun + 60 + 2592000


@pytest.mark.parametrize(("age", "status"), [(99, 200), (100, 401)])
def test_lowered_maximum_age_is_exact_for_tokens_issued_before(
    api, ada, settings, time_machine, age, status
):
    time_machine.move_to(timezone.now().replace(microsecond=0), tick=False)
    token = str(tokens.issue_pair(ada, int(time.time()) - age)[1])
    settings.SESSION_MAX_SECONDS = 100

    assert refresh(api, token)[0] == status


@pytest.mark.parametrize("change", [{"is_active": False}, {"token_version": 9}])
def test_user_whose_sessions_ended_cannot_refresh(api, token, ada, change):
    User.objects.filter(pk=ada.pk).update(**change)

    assert refresh(api, token) == REFUSED


@pytest.mark.django_db(transaction=True)
def test_sixteen_refreshes_with_one_token_all_succeed(token):
    answers = race(*[lambda: refresh(API(), token)] * 16)

    assert [status for status, _ in answers] == [200] * 16
