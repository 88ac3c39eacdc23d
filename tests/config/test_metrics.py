"""GET /metrics: the counts of all processes, for callers with the token, without personal data."""

import re

import psycopg
import pytest

from tests.cast import PASSWORD
from tests.requests import ask
from tests.servers import wait_until

TOKEN = "a token for the scraper"


@pytest.fixture(scope="module")
def service(new_shared_service):
    limits = {"RATE_LIMIT_CREDENTIAL": "3"}
    return new_shared_service(METRICS_TOKEN=TOKEN, WEB_CONCURRENCY="2", **limits).start()


def figures(service):
    answer = ask(service.url, "GET", "/metrics", Authorization=f"Bearer {TOKEN}")
    return answer.body.decode()


def value(text, name, **labels):
    """The sum of the samples of this name that have these labels."""
    samples = re.findall(rf"^{name}(?:{{(.*?)}})? (\S+)$", text, re.MULTILINE)
    wanted_labels = {f'{key}="{content}"' for key, content in labels.items()}
    return sum(
        float(number)
        for sample_labels, number in samples
        if wanted_labels <= set(sample_labels.split(","))
    )


def test_metrics_of_all_processes_are_added_up(service):
    login = {"email": "nobody@example.com", "password": PASSWORD}
    before = figures(service)
    for _ in range(4):
        ask(service.url, "POST", "/auth/login", login)
    path = "/users/0f0e9d4e-6f4b-4f0c-8f0e-0d4e6f4b4f0c?email=eve@example.org"
    for _ in range(20):  # on a connection each, so that both processes serve some
        ask(service.url, "GET", path)
    ask(service.url, "POST", "/auth/signup", {"email": "new@example.com"})
    text = figures(service)

    users = {"route": "users/<uuid:user_id>", "method": "GET", "status": "401"}
    decided = {"tier": "credential"}

    def grown(name, **labels):
        return value(text, name, **labels) - value(before, name, **labels)

    assert grown("http_request_duration_seconds_count", **users) == 20
    assert grown("limiter_decisions_total", **decided, outcome="allowed") == 3
    assert grown("limiter_decisions_total", **decided, outcome="refused") == 2
    assert grown("limiter_callers_refused_total", **decided) == 1
    assert grown("audit_events_total", kind="login.failed") == 3
    assert value(text, "build_info") == 1
    assert value(text, "limiter_store_lost") == value(text, "log_lines_dropped_total") == 0
    assert value(text, "signing_key_age_seconds") >= -1
    assert not re.search(r"127\.0\.0\.1|@|[0-9a-f]{8}-[0-9a-f]{4}-|\?", text)


def test_series_of_alerts_begin_at_zero(service):
    text, route = figures(service), 'method="POST",route="auth/login",status="503"'

    assert f"http_request_duration_seconds_count{{{route}}} 0.0" in text
    methods = re.findall(r'(?m)^wrong_second_factors_total{method="(\w+)"} 0\.0$', text)
    assert sorted(methods) == ["passkey", "recovery_code", "totp"]


def test_metrics_tell_whether_the_database_is_unavailable(service):
    assert value(figures(service), "database_unavailable") == 0
    with psycopg.connect(service.environment["DATABASE_URL"]) as locker:
        locker.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
        wait_until(lambda: "database_unavailable 1.0" in figures(service), 20)
    wait_until(lambda: "database_unavailable 0.0" in figures(service), 20)


def test_metrics_count_mails_by_state(service):
    def sign_up(name):
        return ask(service.url, "POST", "/auth/signup", {"email": f"{name}@example.com"}).status

    for name in ("one", "two"):  # the processes may remember refusals of the test before
        wait_until(lambda name=name: sign_up(name) == 200)
    wait_until(lambda: value(figures(service), "mails_waiting") == 2)  # they are spread
    before = figures(service)
    service.manage("runworker", "--once")
    after = figures(service)

    assert value(before, "mails_oldest_waiting_seconds") > 0
    assert value(before, "mails_of_last_hour", state="requested") == 2
    assert value(before, "mails_of_last_hour", state="refused") == 0  # there before the first one
    assert value(before, "mails_given_up") == 0
    assert value(after, "mails_waiting") == 0
    assert value(after, "mails_of_last_hour", state="sent") == 2


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", f"Basic {TOKEN}", "Bearer é"])
def test_metrics_need_the_bearer_token(service, authorization):
    headers = {"Authorization": authorization.encode()} if authorization else {}
    answer = ask(service.url, "GET", "/metrics", **headers)

    assert (answer.status, answer.json()) == (401, {"error": "missing or invalid token"})
    assert "x-ratelimit-limit" not in answer.headers


def test_metrics_are_off_without_a_token(api, db):
    answer = api.get("/metrics")

    assert answer.status_code == 404
    assert answer["x-ratelimit-limit"]
