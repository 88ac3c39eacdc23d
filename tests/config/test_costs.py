"""What each call costs the database and the store: an exact number of statements and commands."""

import pytest

from accounts import tokens
from tests.conftest import API, PASSWORD

pytestmark = pytest.mark.django_db


def test_identity_takes_one_query_and_one_command(costs, as_ada):
    assert costs(lambda: as_ada.get("/auth/me")) == (200, 1, 1)


def test_log_in_takes_five_queries_and_one_command(costs, api, ada):
    body = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: api.post("/auth/login", body)) == (200, 5, 1)


def test_known_devices_cost_a_log_in_two_queries(costs, api, ada, settings):
    settings.DEVICE_LOCKOUT = True
    body = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: api.post("/auth/login", body)) == (200, 7, 1)  # a device made known
    assert costs(lambda: api.post("/auth/login", body)) == (200, 7, 1)  # a known one


def test_refresh_takes_one_query_and_one_command(costs, api, ada):
    body = {"refresh_token": str(tokens.issue(ada)[1])}

    assert costs(lambda: api.post("/auth/refresh", body)) == (200, 1, 1)


def test_bad_token_takes_no_query(costs):
    stranger = API(authorization="Bearer x.y.z")

    assert costs(lambda: stranger.get("/auth/me")) == (401, 0, 1)
