"""What each call costs the database and the store: an exact number of statements and commands."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django_redis import get_redis_connection

from accounts import tokens
from tests.conftest import API, PASSWORD
from throttling.counter import limiter

pytestmark = pytest.mark.django_db

FROM_CLIENTS = ["eval", "evalsha", "script", "ping", "get", "hello", "client", "select", "auth"]


def commands():
    """Redis commands that clients have sent so far; those inside the script are left out."""
    stats = get_redis_connection().info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in FROM_CLIENTS)


Costs = Callable[[Callable[[], Any]], tuple[int, int, int]]


@pytest.fixture
def costs():
    """Makes a call and gives its status, its statements and its Redis commands."""
    limiter.count("public", "198.51.100.1", 10, strict=True)  # connects, and loads the script

    def measure(call):
        statements = []

        def note(execute, sql, *args):
            statements.append(sql)
            return execute(sql, *args)

        before = commands()
        with connection.execute_wrapper(note):
            answer = call()
        return answer.status_code, len(statements), commands() - before

    return measure


def test_identity_takes_one_query_and_one_command(costs, as_ada):
    assert costs(lambda: as_ada.get("/auth/me")) == (200, 1, 1)


def test_log_in_takes_four_queries_and_one_command(costs, api, ada):
    body = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: api.post("/auth/login", body)) == (200, 4, 1)


def test_relief_costs_a_log_in_one_query_at_most(costs, api, ada, settings):
    settings.LOCKOUT_RELIEF = True
    body = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: api.post("/auth/login", body)) == (200, 5, 1)  # a device made known
    assert costs(lambda: api.post("/auth/login", body)) == (200, 4, 1)  # a known one


def test_refresh_takes_one_query_and_one_command(costs, api, ada):
    body = {"refresh_token": str(tokens.issue(ada)[1])}

    assert costs(lambda: api.post("/auth/refresh", body)) == (200, 1, 1)


def test_sign_up_takes_two_queries_and_one_command(costs, api):
    assert costs(lambda: api.post("/auth/signup", {"email": "new@example.com"})) == (200, 2, 1)


def test_bad_token_takes_no_query(costs):
    stranger = API(authorization="Bearer x.y.z")

    assert costs(lambda: stranger.get("/auth/me")) == (401, 0, 1)


@pytest.mark.parametrize("path", ["/auth/me", "/unknown"])
def test_refused_call_takes_no_query(costs, as_ada, settings, path):
    settings.RATE_LIMIT_AUTHENTICATED = settings.RATE_LIMIT_PUBLIC = 1
    as_ada.get(path)

    assert costs(lambda: as_ada.get(path)) == (429, 0, 1)
    assert costs(lambda: as_ada.get(path)) == (429, 0, 0)  # from memory


def test_refused_log_in_takes_no_query(costs, api, settings):
    settings.RATE_LIMIT_CREDENTIAL = 1
    api.post("/auth/login", {})

    assert costs(lambda: api.post("/auth/login", {})) == (429, 0, 1)
    assert costs(lambda: api.post("/auth/login", {})) == (429, 0, 0)  # from memory
