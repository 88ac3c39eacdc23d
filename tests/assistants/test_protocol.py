"""Messages: both eras, and everything that is wrong with a message, without a single 5xx."""

import pytest
from django.conf import settings

from tests.assistants.conftest import META, message, modern, send, use

pytestmark = pytest.mark.django_db

LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"]
VERSION = "io.modelcontextprotocol/protocolVersion"


def legacy(api, method, version="2025-11-25", **params):
    headers = {"MCP-Protocol-Version": version} if version else {}
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
    return api.post("/mcp", body, headers=headers)


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


def test_server_is_discovered(as_bob):
    answer = send(as_bob, "server/discover")

    result = answer.json()["result"]
    assert result["supportedVersions"] == ["2026-07-28", *LEGACY]
    assert result["capabilities"] == {"tools": {}}
    assert answer["Content-Type"] == "application/json"
    assert answer["Cache-Control"] == "no-store"


ANSWERED = {version: version for version in LEGACY}
ANSWERED |= dict.fromkeys(["2024-11-05", "2026-07-28", "tomorrow"], "2025-11-25")


@pytest.mark.parametrize(("asked", "answered"), ANSWERED.items())
def test_earlier_clients_initialize_with_the_newest_revision_of_their_era(as_bob, asked, answered):
    info = {"name": "Testbench", "version": "1"}
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": info}

    answer = legacy(as_bob, "initialize", None, **params)

    assert answer.json()["id"] == "a"
    assert answer.json()["result"]["protocolVersion"] == answered
    assert "Mcp-Session-Id" not in answer


@pytest.mark.parametrize("version", [*LEGACY, None])
def test_earlier_clients_ping_and_call(as_bob, version):
    assert legacy(as_bob, "ping", version).json()["result"] == {}
    result = legacy(as_bob, "tools/call", version, name="whoami").json()["result"]
    assert result["structuredContent"]["email"] == "bob@example.com"
    assert "resultType" not in result


def test_notification_is_taken(as_bob):
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answer = as_bob.post("/mcp", body, headers={"MCP-Protocol-Version": "2025-11-25"})

    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("method", ["get", "delete", "put", "patch", "head"])
def test_other_methods_are_not_allowed(as_bob, method):
    answer = as_bob.call(method, "/mcp")

    assert (answer.status_code, answer["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"\xff", -32700),
        (b'{"jsonrpc": "2.0", "id": NaN}', -32700),
        (b"[" * 30_000, -32700),
        (b"[]", -32600),
        (b"null", -32600),
        (b'"ping"', -32600),
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
def test_what_is_no_message_is_told_so(as_bob, body, error):
    answer = as_bob.post("/mcp", body)

    assert code(answer) == (400, error)
    assert answer.json()["id"] is None


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": None},
        {"MCP-Protocol-Version": ""},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"Mcp-Method": None},
        {"Mcp-Method": ""},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "TOOLS/CALL"},
        {"Mcp-Method": "tools/call, tools/call"},
        {"Mcp-Name": None},
        {"Mcp-Name": ""},
        {"Mcp-Name": "list_users"},
        {"Mcp-Name": "=?base64?bGlzdF91c2Vycw==?="},
        {"Mcp-Name": "=?base64?***?="},
        {"Mcp-Name": "=?base64?/w==?="},
        {"Mcp-Name": "=?base64?\u00e9?="},
    ],
)
def test_headers_that_contradict_the_body_are_refused(as_bob, headers):
    body = message("tools/call", name="whoami")
    sent = {name: value for name, value in (modern(body) | headers).items() if value is not None}

    assert code(as_bob.post("/mcp", body, headers=sent)) == (400, -32020)


@pytest.mark.parametrize("version", ["2024-11-05", "2027-01-01", "x"])
def test_unknown_revision_is_answered_with_those_that_are_spoken(as_bob, version):
    body = message("tools/list", _meta=META | {VERSION: version})

    answer = as_bob.post("/mcp", body, headers=modern(body) | {"MCP-Protocol-Version": version})

    assert code(answer) == (400, -32022)
    assert answer.json()["error"]["data"] == {
        "supported": ["2026-07-28", *LEGACY],
        "requested": version,
    }
    assert code(legacy(as_bob, "tools/list", version)) == (400, -32022)


@pytest.mark.parametrize("missing", [VERSION, "io.modelcontextprotocol/clientCapabilities"])
def test_metadata_has_to_be_there(as_bob, missing):
    body = message("tools/list", _meta={k: v for k, v in META.items() if k != missing})

    assert code(as_bob.post("/mcp", body, headers=modern(body))) == (400, -32602)


@pytest.mark.parametrize("meta", [None, [], 5, {}, {VERSION: 5}, {VERSION: ["2026-07-28"]}])
def test_metadata_of_wrong_types_is_refused(as_bob, meta):
    body = message("tools/list", _meta=meta)

    answer = as_bob.post("/mcp", body, headers=modern(body))

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {-32602, -32020}


@pytest.mark.parametrize("method", ["server/discover", "prompts/list", "nothing"])
def test_unknown_method_of_an_earlier_client_is_no_failed_transport(as_bob, method):
    assert code(legacy(as_bob, method)) == (200, -32601)


def test_unknown_tool_is_told_so(as_bob):
    assert code(send(as_bob, "tools/call", name="rm")) == (400, -32602)
    assert code(legacy(as_bob, "tools/call", name="rm")) == (200, -32602)


@pytest.mark.parametrize("origin", ["https://evil.test", "null", settings.SERVICE_URL + ".evil"])
def test_foreign_origin_is_refused(as_bob, origin):
    answer = as_bob.post("/mcp", message("tools/list"), headers={"Origin": origin})

    assert (answer.status_code, answer.json()) == (403, {"error": "origin not allowed"})


def test_own_and_allowed_origins_are_served(as_bob, settings):
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example.com"]
    body = message("tools/list")

    for origin in ("https://app.example.com", settings.SERVICE_URL):
        answer = as_bob.post("/mcp", body, headers=modern(body) | {"Origin": origin})
        assert answer.status_code == 200


def test_limit_is_the_public_one(as_bob, api, settings):
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

    assert use(as_bob, "update_profile", first_name=deep)["isError"] is True
