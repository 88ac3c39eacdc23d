"""A request is counted before anything is done for it, and counting costs one round trip."""

import pytest

from accounts import tokens
from api.views import ObjectParser
from tests.cast import PASSWORD
from tests.throttling.conftest import CREDENTIAL_PATHS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def never(*_, **__):
    raise AssertionError("work was done for a refused request")


@pytest.fixture
def idle(settings, monkeypatch):
    """Every limit is used up, and any work on a request fails the test."""
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_AUTHENTICATED = 0
    settings.RATE_LIMIT_CREDENTIAL = 0
    monkeypatch.setattr(ObjectParser, "parse", never)
    for hashing in ["check_password", "make_password"]:
        monkeypatch.setattr(f"signin.credentials.{hashing}", never)


@pytest.fixture
def body(ada):
    """A body that every credential call accepts."""
    refresh = str(tokens.issue_pair(ada)[1])
    return {"email": ada.email, "password": PASSWORD, "refresh_token": refresh}


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("path", CREDENTIAL_PATHS)
def test_refused_credential_call_costs_nothing(body, api, path, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert api.post(path, body).status_code == 429
        assert api.post(path, b"{" * 70_000).status_code == 429


@pytest.mark.usefixtures("idle")
def test_refused_refresh_by_cookie_costs_nothing(ada, api, django_assert_num_queries, monkeypatch):
    monkeypatch.setattr(tokens.RefreshToken, "__init__", never)
    with django_assert_num_queries(0):
        answer = api.post("/auth/refresh", headers={"cookie": "service_refresh=a.b.c"})

    assert answer.status_code == 429


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("path", ["/auth/me", "/auth/logout", "/nope", "/.well-known/jwks.json"])
def test_refused_ordinary_call_costs_nothing(as_ada, path, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert as_ada.post(path, b"{").status_code == 429
        assert as_ada.get(path, headers={"host": "evil.example"}).status_code == 429


@pytest.mark.parametrize("path", CREDENTIAL_PATHS)
def test_credential_call_costs_one_round_trip(body, api, costs, path):
    assert costs(lambda: api.post(path, body))[2] == 1


@pytest.mark.parametrize("limit", [0, 10])
def test_ordinary_calls_cost_one_round_trip(api, client, costs, settings, limit):
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_AUTHENTICATED = limit
    settings.RATE_LIMIT_CREDENTIAL = limit
    form = {"username": "ada@example.com", "password": PASSWORD}

    assert costs(lambda: api.get("/nope"))[2] == 1
    assert costs(lambda: api.get("/auth/me"))[2] == 1
    assert costs(lambda: client.post("/admin/login/", form))[2] == 1
