"""GET /health."""

import pytest

from config.health import DatabaseLook, database_answers
from throttling.limiter import limiter

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_looked_yet():
    database_answers.good_until = float("-inf")


def test_says_ok(api):
    answer = api.get("/health")

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "database": "ok",
        "limiter": "ok",
        "keys": "ok",
    }


def test_is_free_of_limits(api, settings):
    settings.RATE_LIMIT_PUBLIC = 1

    answers = [api.get("/health") for _ in range(5)]

    assert {answer.status_code for answer in answers} == {200}
    assert not [name for name in answers[0].headers if name.lower().startswith("x-ratelimit")]


def test_hammering_it_costs_one_query_a_second(api, django_assert_num_queries):
    with django_assert_num_queries(1):
        for _ in range(10):
            api.get("/health")


def test_answers_any_host(api):
    assert api.get("/health", headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_lost_store_is_degraded(api, monkeypatch):
    monkeypatch.setattr(limiter, "state", lambda: "fallback")

    assert api.get("/health").json()["status"] == "degraded"


def test_lost_database_is_503(api, monkeypatch):
    monkeypatch.setattr(DatabaseLook, "probe", lambda self: False)

    answer = api.get("/health")

    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
    assert isinstance(answer.json()["error"], str)
