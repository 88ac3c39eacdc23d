"""Claims of callers are cut and marked in the audit log, by whatever call they are made."""

import pytest

from accounts.models import User
from assistants.models import Client
from audit.models import AuditEvent, Kind
from tests.assistants.conftest import META, REDIRECT, authorize, current_headers, message, redeem
from tests.clients import API

pytestmark = pytest.mark.django_db

LONG_NAME = "Cla\0ude\x1b[31m\u202e" + "x" * 60_000
CUT_NAME = ("Claude[31m" + "x" * 100)[:100]
LONG_AGENT = "Browser\x1b\x07/1" + "x" * 8_000


def claim_in_a_message(api, name=LONG_NAME):
    """An ordinary token at /mcp, and a program that says much of itself."""
    body = message("tools/call", name="update_profile", arguments={"first_name": "Augusta"})
    info = {"name": name, "version": "\x01" * 9}
    body["params"]["_meta"] = META | {"io.modelcontextprotocol/clientInfo": info}
    assert api.post("/mcp", body, headers=current_headers(body)).status_code == 200


def claim_at_initialize(api):
    info = {"name": LONG_NAME[:9_000], "version": LONG_NAME[:9_000]}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert api.post("/mcp", body).status_code == 200
    params = {"name": "update_profile", "arguments": {"first_name": "Augusta"}, "_meta": {}}
    assert api.post("/mcp", body | {"method": "tools/call", "params": params}).status_code == 200


def claim_by_header(api):
    api.patch("/auth/me", {"first_name": "Augusta"}, headers={"User-Agent": LONG_AGENT})


def claim_by_header_of_a_failure(api):
    body = {"email": "nobody@example.com", "password": "wrong password"}
    api.post("/auth/login", body, headers={"User-Agent": LONG_AGENT})


def claim_at_registration(api):
    metadata = {"client_name": "x" * 100, "redirect_uris": [REDIRECT]}
    client_id = api.post("/oauth/register", metadata).json()["client_id"]
    client = Client.objects.get(pk=client_id)
    redeem(API(), client, authorize(client, User.objects.get(email="ada@example.com")))


CLAIMS = [claim_in_a_message, claim_at_initialize, claim_by_header, claim_by_header_of_a_failure]


@pytest.mark.parametrize("make_claim", [*CLAIMS, claim_at_registration])
def test_claim_is_cut_to_a_hundred_printable_characters(as_ada, make_claim):
    make_claim(as_ada)

    events = AuditEvent.objects.all()
    claims = [text for event in events for text in event.detail.get("claims", {}).values()]
    agents = [event.agent for event in events]
    assert max(map(len, claims), default=0) <= 100
    assert max(map(len, agents), default=0) <= 254
    assert all(text.isprintable() for text in claims + agents)


def test_claimed_client_name_is_recorded_as_a_claim(as_ada, operator):
    claim_in_a_message(as_ada)

    event = AuditEvent.objects.get(kind=Kind.PROFILE_CHANGED)
    assert event.detail == {"via": "mcp", "claims": {"client": CUT_NAME}, "fields": ["first_name"]}
    assert CUT_NAME in operator.get("/admin/audit/record/").content.decode()


def test_invisible_name_is_no_claim(as_ada):
    claim_in_a_message(as_ada, "\u200b")

    assert "claims" not in AuditEvent.objects.get(kind=Kind.PROFILE_CHANGED).detail
