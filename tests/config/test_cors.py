"""CORS for a front-end at another web origin."""

import pytest

pytestmark = pytest.mark.django_db
ORIGIN = "https://app.example.com"


@pytest.fixture(autouse=True)
def one_origin(settings):
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]


def test_tracing_headers_may_be_sent(api):
    preflight = {"origin": ORIGIN, "access-control-request-method": "GET"}

    answer = api.call("options", "/auth/me", headers=preflight)

    assert answer["Access-Control-Allow-Origin"] == ORIGIN
    allowed = set(answer["Access-Control-Allow-Headers"].split(", "))
    assert {"authorization", "content-type", "x-request-id"} <= allowed
    assert {"traceparent", "tracestate", "baggage", "sentry-trace"} <= allowed


def test_credentials_are_allowed_and_limit_headers_exposed(api):
    answer = api.post("/auth/login", {}, headers={"origin": ORIGIN})

    assert answer["Access-Control-Allow-Credentials"] == "true"
    exposed = answer["Access-Control-Expose-Headers"].split(", ")
    assert {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"} <= set(exposed)
    assert "retry-after" in exposed


def test_other_web_origins_get_no_cors_headers(api):
    answer = api.post("/auth/login", {}, headers={"origin": "https://evil.example"})

    assert "Access-Control-Allow-Origin" not in answer
