"""GET /health."""

import pytest
from django.db import OperationalError, connection

from throttling.limiter import limiter

pytestmark = pytest.mark.django_db


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


def test_answers_any_host(api):
    assert api.get("/health", headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_lost_store_is_degraded(api, monkeypatch):
    monkeypatch.setattr(limiter, "state", lambda: "fallback")

    assert api.get("/health").json()["status"] == "degraded"


def test_lost_database_is_503(api, monkeypatch):
    def fail():
        raise OperationalError("unreachable")

    monkeypatch.setattr(connection, "cursor", fail)

    answer = api.get("/health")

    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
    assert isinstance(answer.json()["error"], str)
