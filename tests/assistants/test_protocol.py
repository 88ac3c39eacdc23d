"""Messages of all protocol revisions, and the errors for invalid ones."""

from base64 import b64encode

import pytest
from django.conf import settings

from tests.assistants.conftest import META, call_tool, current_headers, message, send

pytestmark = pytest.mark.django_db

EARLIER_REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def post_message(api, body, **changes):
    """Post a message of revision 2026-07-28 with these headers changed, or left out if None."""
    headers = current_headers(body) | changes
    return api.post("/mcp", body, headers={name: v for name, v in headers.items() if v is not None})


def send_earlier(api, method, version="2025-11-25", **params):
    headers = {"MCP-Protocol-Version": version} if version else {}
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
    return api.post("/mcp", body, headers=headers)


def error_of(answer):
    return answer.status_code, answer.json()["error"]["code"]


def test_discover_names_revisions_and_capabilities(as_bob):
    answer = send(as_bob, "server/discover")

    result = answer.json()["result"]
    assert result["supportedVersions"] == ["2026-07-28", *EARLIER_REVISIONS]
    assert result["capabilities"] == {"tools": {}}
    assert answer["Content-Type"] == "application/json"
    assert answer["Cache-Control"] == "no-store"


REVISIONS = {version: version for version in EARLIER_REVISIONS}
REVISIONS |= dict.fromkeys(["2024-11-05", "2026-07-28", "tomorrow"], "2025-11-25")


@pytest.mark.parametrize(("requested", "revision"), REVISIONS.items())
def test_initialize_answers_with_an_earlier_revision(as_bob, requested, revision):
    info = {"name": "Testbench", "version": "1"}
    params = {"protocolVersion": requested, "capabilities": {}, "clientInfo": info}

    answer = send_earlier(as_bob, "initialize", None, **params)

    assert answer.json()["id"] == "a"
    assert answer.json()["result"]["protocolVersion"] == revision
    assert "Mcp-Session-Id" not in answer


@pytest.mark.parametrize("version", [*EARLIER_REVISIONS, None])
def test_clients_of_earlier_revisions_ping_and_call_tools(as_bob, version):
    assert send_earlier(as_bob, "ping", version).json()["result"] == {}
    result = send_earlier(as_bob, "tools/call", version, name="whoami").json()["result"]
    assert result["structuredContent"]["email"] == "bob@example.com"
    assert "resultType" not in result


def test_notification_is_answered_with_202(as_bob):
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answer = as_bob.post("/mcp", body, headers={"MCP-Protocol-Version": "2025-11-25"})

    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("method", ["get", "delete", "put", "patch", "head"])
def test_other_http_methods_are_not_allowed(as_bob, method):
    answer = as_bob.call(method, "/mcp")

    assert (answer.status_code, answer["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        *[(body, -32700) for body in (b"{", b"", b"\xff", b'{"jsonrpc": "2.0", "id": NaN}')],
        (b"[" * 30_000, -32700),
        *[(body, -32600) for body in (b"[]", b"null", b'"ping"')],
        ([message("ping"), message("ping")], -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
    ],
)
def test_invalid_message_is_answered_with_its_error(as_bob, body, error):
    answer = as_bob.post("/mcp", body)

    assert error_of(answer) == (400, error)
    assert answer.json()["id"] is None


@pytest.mark.parametrize(
    "headers",
    [{"MCP-Protocol-Version": value} for value in (None, "", "2025-11-25")]
    + [
        {"Mcp-Method": value}
        for value in (None, "", "tools/list", "TOOLS/CALL", "tools/call, tools/call")
    ]
    + [{"Mcp-Name": value} for value in (None, "", "list_users", "=?base64?bGlzdF91c2Vycw==?=")]
    + [{"Mcp-Name": f"=?base64?{value}?="} for value in ("***", "/w==", "\u00e9")],
)
def test_headers_that_contradict_the_body_are_refused(as_bob, headers):
    body = message("tools/call", name="whoami")

    assert error_of(post_message(as_bob, body, **headers)) == (400, -32020)


def test_encoded_name_is_decoded_before_it_is_compared(as_bob):
    body = message("tools/call", name="whoami")
    encoded = b64encode(b"whoami").decode()

    assert post_message(as_bob, body, **{"Mcp-Name": f"=?base64?{encoded}?="}).status_code == 200


@pytest.mark.parametrize("version", ["2024-11-05", "2027-01-01", "x"])
def test_unknown_revision_is_answered_with_the_supported_ones(as_bob, version):
    body = message("tools/list", _meta=META | {VERSION_KEY: version})

    answer = post_message(as_bob, body, **{"MCP-Protocol-Version": version})

    assert error_of(answer) == (400, -32022)
    assert answer.json()["error"]["data"] == {
        "supported": ["2026-07-28", *EARLIER_REVISIONS],
        "requested": version,
    }
    assert error_of(send_earlier(as_bob, "tools/list", version)) == (400, -32022)


@pytest.mark.parametrize("missing", [VERSION_KEY, "io.modelcontextprotocol/clientCapabilities"])
def test_metadata_of_a_message_is_required(as_bob, missing):
    body = message("tools/list", _meta={k: v for k, v in META.items() if k != missing})

    assert error_of(post_message(as_bob, body)) == (400, -32602)


@pytest.mark.parametrize("meta", [None, [], 5, {}, {VERSION_KEY: 5}, {VERSION_KEY: ["2026-07-28"]}])
def test_metadata_of_wrong_types_is_refused(as_bob, meta):
    status, code = error_of(post_message(as_bob, message("tools/list", _meta=meta)))

    assert status == 400
    assert code in {-32602, -32020}


@pytest.mark.parametrize("method", ["server/discover", "prompts/list", "nothing"])
def test_unknown_method_of_an_earlier_revision_is_answered_with_200(as_bob, method):
    assert error_of(send_earlier(as_bob, method)) == (200, -32601)


def test_unknown_tool_is_an_error(as_bob):
    assert error_of(send(as_bob, "tools/call", name="rm")) == (400, -32602)
    assert error_of(send_earlier(as_bob, "tools/call", name="rm")) == (200, -32602)


@pytest.mark.parametrize("origin", ["https://evil.test", "null", settings.SERVICE_URL + ".evil"])
def test_foreign_web_origin_is_refused(as_bob, origin):
    answer = as_bob.post("/mcp", message("tools/list"), headers={"Origin": origin})

    assert (answer.status_code, answer.json()) == (403, {"error": "origin not allowed"})


def test_own_and_allowed_web_origins_are_served(as_bob, settings):
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example.com"]

    for origin in ("https://app.example.com", settings.SERVICE_URL):
        assert post_message(as_bob, message("tools/list"), Origin=origin).status_code == 200


def test_messages_count_in_the_public_tier(as_bob, api, settings):
    settings.RATE_LIMIT_PUBLIC = 2
    assert send(as_bob, "tools/list")["x-ratelimit-remaining"] == "1"
    assert api.post("/mcp", b"{")["x-ratelimit-remaining"] == "0"

    answer = send(as_bob, "tools/list")

    assert answer.status_code == 429
    assert answer.json()["error"] == "rate_limited"
    assert answer["x-ratelimit-remaining"] == "0"


def test_deep_arguments_are_refused(as_bob):
    deep = "x"
    for _ in range(150):
        deep = [deep]

    assert call_tool(as_bob, "update_profile", first_name=deep)["isError"] is True
