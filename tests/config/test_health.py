"""GET /health."""

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.views import could_read_users
from tests import servers
from tests.requests import ask

pytestmark = pytest.mark.django_db


def test_health_of_a_working_service_is_ok(api):
    answer = api.get("/health")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "limiter": "ok", "keys": "ok"}


def test_health_answers_any_host(api):
    assert api.get("/health", headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_health_asks_the_database_once_a_second(api, monkeypatch):
    monkeypatch.setattr("config.views.time.monotonic", lambda: 7.0)
    with CaptureQueriesContext(connection) as queries:
        answers = [api.get("/health").json()["database"] for _ in range(20)]

    assert answers == ["ok"] * 20
    assert len([statement for statement in queries if "accounts_user" in statement["sql"]]) == 1


@pytest.mark.django_db(transaction=True)
def test_locked_users_are_503_while_they_are_locked(api):
    with psycopg.connect(servers.POSTGRES.url(connection.settings_dict["NAME"])) as locker:
        locker.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
        locked = api.get("/health")
    could_read_users.cache_clear()

    assert locked.status_code == 503
    assert locked.json() == {
        **dict.fromkeys(["status", "database"], "unavailable"),
        "limiter": "ok",
        "error": "service unavailable",
    }
    assert api.get("/health").status_code == 200


def test_liveness_needs_neither_database_nor_redis(new_service):
    """The addresses of database and Redis have port 1, on which nothing listens."""
    away = {"DATABASE_URL": "postgres://u@127.0.0.1:1/x", "REDIS_URL": "redis://127.0.0.1:1/0"}
    service = new_service(**away).start()
    answer = ask(service.url, "GET", "/health/live")

    assert (answer.status, answer.json()) == (200, {"status": "ok"})
    assert ask(service.url, "GET", "/health").status == 503


MINUTES_AHEAD = "import time_machine; time_machine.travel(__import__('time').time() + 90).start()"


def test_host_with_a_wrong_clock_is_degraded(new_service, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(MINUTES_AHEAD)
    service = new_service(PYTHONPATH=str(tmp_path)).start()

    assert ask(service.url, "GET", "/health").json()["status"] == "degraded"
