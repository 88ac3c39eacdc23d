"""CORS: scripts of any web origin may read metadata, register and get tokens, and no more."""

import pytest

from tests.assistants.conftest import REDIRECT, post_form

pytestmark = pytest.mark.django_db

ORIGIN = "https://assistant.example"
OPEN_PATHS = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/oauth/register",
    "/oauth/token",
]


def preflight(api, path):
    headers = {"origin": ORIGIN, "access-control-request-method": "POST"}
    return api.call("options", path, headers=headers)


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_open_paths_answer_preflights_of_any_web_origin(api, path):
    answer = preflight(api, path)

    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == ORIGIN
    allowed_headers = answer["Access-Control-Allow-Headers"].split(", ")
    assert {"content-type", "mcp-protocol-version"} <= set(allowed_headers)


@pytest.mark.parametrize("path", ["/auth/login", "/auth/me", "/oauth/revoke", "/oauth/authorize"])
def test_other_paths_refuse_preflights_of_foreign_web_origins(api, path):
    assert "Access-Control-Allow-Origin" not in preflight(api, path)


def test_any_web_origin_reads_answers_of_open_paths(api):
    api.headers = {"origin": ORIGIN}

    answers = [
        api.get(OPEN_PATHS[0]),
        api.get(OPEN_PATHS[2]),
        api.post("/oauth/register", {"redirect_uris": [REDIRECT]}),
        post_form(api, "/oauth/token"),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 201, 400]
    assert {answer["Access-Control-Allow-Origin"] for answer in answers[:3]} == {ORIGIN}


def test_preflights_do_not_count_as_credential_calls(api, settings):
    settings.RATE_LIMIT_CREDENTIAL = 1

    assert [preflight(api, "/oauth/token").status_code for _ in range(3)] == [200] * 3
    assert post_form(api, "/oauth/token").status_code == 400
