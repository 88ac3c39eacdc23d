"""GET /auth/check, which proxies ask."""

import time

import pytest

from accounts.models import User
from accounts.tokens import issue_pair
from api.views import Scope
from apikeys.models import make_key
from tests.apikeys.conftest import client_of
from tests.clients import API, bearer

pytestmark = pytest.mark.django_db
NAMES = ["Kind", "User", "Key", "Account", "Role", "Email", "Scopes"]


def facts(answer):
    return {name: answer.headers.get(f"X-Auth-{name}") for name in NAMES}


def test_user_passes(as_bob, bob):
    answer = as_bob.get("/auth/check")

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["Cache-Control"] == "no-store"
    ids = {"User": str(bob.pk), "Key": "", "Account": str(bob.account_id)}
    rights = {"Role": "member", "Email": "bob@example.com", "Scopes": ""}
    assert facts(answer) == {"Kind": "user"} | ids | rights


def test_key_passes(new_key, ada, operators_key):
    row, key = new_key(Scope.USERS_READ, Scope.EVENTS_READ)

    ids = {"User": "", "Key": str(row.pk), "Account": str(ada.account_id)}
    rights = {"Role": "", "Email": "", "Scopes": "events:read users:read"}
    assert facts(client_of(key).get("/auth/check")) == {"Kind": "key"} | ids | rights
    assert facts(operators_key.get("/auth/check"))["Account"] == ""


@pytest.mark.parametrize(
    ("query", "admin", "member", "key"),
    [
        ("", 204, 204, 204),
        ("role=admin", 204, 403, 403),
        ("scope=users:read", 403, 403, 204),
        ("scope=scim", 403, 403, 403),
        ("scope=no-such", 403, 403, 403),
        ("role=admin&scope=users:read", 204, 403, 204),
        ("role=admin&scope=scim", 204, 403, 403),
        ("max_age=100", 204, 204, 401),
        ("max_age=100&scope=users:read", 403, 403, 401),
    ],
)
def test_who_passes(as_ada, as_bob, by_key, query, admin, member, key):
    clients = [as_ada, as_bob, by_key(Scope.USERS_READ)]

    statuses = [api.get(f"/auth/check?{query}").status_code for api in clients]

    assert statuses == [admin, member, key]


@pytest.mark.parametrize(
    "query",
    ["rol=admin", "role=", "role=member", "role=Admin", "role=admin&role=admin", "scope=",
     "role=admin&x", "scope=scim&scope=users:read", "max_age=", "max_age=-1", "max_age=1.5",
     "max_age=%D9%A3", "max_age=1e3", "max_age=9999999999", "max_age=9&max_age=99999", "role%00=x",
     "role=admin&role=member"],
)  # fmt: skip
def test_wrong_query_fails_closed(as_ada, by_key, query):
    for api in (as_ada, by_key()):
        answer = api.get(f"/auth/check?{query}")
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid request")
        assert "X-Auth-Kind" not in answer.headers


@pytest.mark.parametrize(
    ("query", "seconds_ago", "challenge"),
    [
        ("max_age=60", 55, None),
        ("max_age=60", 65, 'Bearer error="insufficient_user_authentication", max_age="60"'),
        ("max_age=0", 5, 'Bearer error="insufficient_user_authentication", max_age="0"'),
    ],
)
def test_age_is_that_of_the_sign_in(ada, query, seconds_ago, challenge):
    access, _ = issue_pair(ada, auth_time=int(time.time()) - seconds_ago)

    answer = client_of(access).get(f"/auth/check?{query}")

    assert answer.headers.get("WWW-Authenticate") == challenge
    assert answer.status_code == (401 if challenge else 204)


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ({}, "Bearer"),
        ({"authorization": "Bearer nothing"}, 'Bearer error="invalid_token"'),
        ({"authorization": "Basic QTpC"}, 'Bearer error="invalid_token"'),
        ({"authorization": f"Bearer {make_key()}"}, 'Bearer error="invalid_token"'),
        ({"cookie": "service_refresh=x; sessionid=x"}, "Bearer"),
    ],
)
def test_challenge_says_what_is_lacking(db, headers, challenge):
    answer = API(**headers).get("/auth/check")

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, challenge)
    assert answer.json() == {"error": "missing or invalid token"}


def test_refusal_says_that_the_scope_is_insufficient(as_bob):
    answer = as_bob.get("/auth/check?role=admin")

    assert answer.headers["WWW-Authenticate"] == 'Bearer error="insufficient_scope"'
    assert (answer.status_code, answer.json()) == (403, {"error": "not permitted"})


def test_role_is_the_present_one(as_ada, ada):
    User.objects.filter(pk=ada.pk).update(role="member")

    assert as_ada.get("/auth/check?role=admin").status_code == 403
    assert as_ada.get("/auth/check").headers["X-Auth-Role"] == "member"


def test_ended_session_does_not_pass(as_ada, ada):
    ada.sign_out(ada)

    assert as_ada.get("/auth/check").status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_other_methods_are_refused(as_ada, by_key, method):
    for api in (as_ada, by_key()):
        answer = api.call(method, "/auth/check")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_what_the_client_says_of_itself_is_not_repeated(as_bob, bob):
    lie = {f"x-auth-{name.lower()}": "admin" for name in NAMES} | {"x-forwarded-user": "ada"}

    answer = as_bob.get("/auth/check", headers=lie)

    assert facts(answer)["Role"] == "member"


def test_values_are_printable_ascii(new_user):
    """An address of the form that a row may still have."""
    user = new_user()
    User.objects.filter(pk=user.pk).update(email="a%b+c'ü\u2028@example.com")

    email = facts(bearer(user).get("/auth/check"))["Email"]

    assert email == "a%25b+c'%C3%BC%E2%80%A8@example.com"


def test_it_has_a_limit_of_its_own(as_ada, ada, settings, new_key):
    settings.RATE_LIMIT_CHECK, settings.RATE_LIMIT_AUTHENTICATED = 2, 1
    answers = [as_ada.get("/auth/check") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [204, 204, 429]
    assert answers[0].headers["x-ratelimit-limit"] == "2"
    assert answers[2].json()["error"] == "rate_limited"
    assert as_ada.get("/auth/me").status_code == 200
    assert client_of(new_key()[1]).get("/auth/check").status_code == 204


def test_it_costs_as_much_as_the_callers_identity(costs, as_ada, new_key):
    _, key = new_key()
    client_of(key).get("/auth/check")

    assert costs(lambda: as_ada.get("/auth/check")) == (204, 1, 1)
    assert costs(lambda: client_of(key).get("/auth/check")) == (204, 1, 1)


def test_refresh_token_does_not_pass(ada):
    assert client_of(issue_pair(ada)[1]).get("/auth/check").status_code == 401
