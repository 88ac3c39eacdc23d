"""Scripts of any origin find out, register and redeem; the rest keeps to settings."""

import pytest

from tests.assistants.conftest import REDIRECT, form

pytestmark = pytest.mark.django_db

ORIGIN = "https://assistant.example"
OPEN = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/oauth/register",
    "/oauth/token",
]


def preflight(api, path):
    asked = {"origin": ORIGIN, "access-control-request-method": "POST"}
    return api.call("options", path, headers=asked)


@pytest.mark.parametrize("path", OPEN)
def test_any_origin_may_ask(api, path):
    answer = preflight(api, path)

    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == ORIGIN
    allowed = answer["Access-Control-Allow-Headers"].split(", ")
    assert {"content-type", "mcp-protocol-version"} <= set(allowed)


@pytest.mark.parametrize("path", ["/auth/login", "/auth/me", "/oauth/revoke", "/oauth/authorize"])
def test_no_other_call_answers_any_origin(api, path):
    assert "Access-Control-Allow-Origin" not in preflight(api, path)


def test_any_origin_reads_the_answers(api):
    api.headers = {"origin": ORIGIN}

    answers = [
        api.get(OPEN[0]),
        api.get(OPEN[2]),
        api.post("/oauth/register", {"redirect_uris": [REDIRECT]}),
        form(api, "/oauth/token"),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 201, 400]
    assert {answer["Access-Control-Allow-Origin"] for answer in answers[:3]} == {ORIGIN}


def test_preflights_do_not_count_as_credentials(api, settings):
    settings.RATE_LIMIT_CREDENTIAL = 1

    assert [preflight(api, "/oauth/token").status_code for _ in range(3)] == [200] * 3
    assert form(api, "/oauth/token").status_code == 400
