"""Claims of callers are cut and marked in the audit log, by whatever way they come in."""

import pytest

from accounts.models import User
from assistants.models import Client
from audit.models import AuditEvent, Kind
from tests.assistants.conftest import META, REDIRECT, let_in, message, modern, redeem
from tests.clients import API

pytestmark = pytest.mark.django_db

NOISE = "Cla\0ude\x1b[31m\u202e" + "x" * 60_000
CUT = ("Claude[31m" + "x" * 100)[:100]
AGENT = "Browser\x1b\x07/1" + "x" * 8_000


def named_in_a_message(api, name=NOISE):
    """An ordinary token at /mcp, and a program that says much of itself."""
    body = message("tools/call", name="update_profile", arguments={"first_name": "Augusta"})
    info = {"name": name, "version": "\x01" * 9}
    body["params"]["_meta"] = META | {"io.modelcontextprotocol/clientInfo": info}
    assert api.post("/mcp", body, headers=modern(body)).status_code == 200


def named_at_initialize(api):
    info = {"name": NOISE[:9_000], "version": NOISE[:9_000]}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert api.post("/mcp", body).status_code == 200
    params = {"name": "update_profile", "arguments": {"first_name": "Augusta"}, "_meta": {}}
    assert api.post("/mcp", body | {"method": "tools/call", "params": params}).status_code == 200


def named_by_header(api):
    api.patch("/auth/me", {"first_name": "Augusta"}, headers={"User-Agent": AGENT})


def named_by_header_of_a_failure(api):
    body = {"email": "nobody@example.com", "password": "wrong password"}
    api.post("/auth/login", body, headers={"User-Agent": AGENT})


def named_at_registration(api):
    metadata = {"client_name": "x" * 100, "redirect_uris": [REDIRECT]}
    client_id = api.post("/oauth/register", metadata).json()["client_id"]
    client = Client.objects.get(pk=client_id)
    redeem(API(), client, let_in(client, User.objects.get(email="ada@example.com")))


WAYS = [named_in_a_message, named_at_initialize, named_by_header, named_by_header_of_a_failure]


@pytest.mark.parametrize("way", [*WAYS, named_at_registration])
def test_claim_is_cut_to_a_hundred_printable_characters(as_ada, way):
    way(as_ada)

    records = AuditEvent.objects.all()
    claims = [text for record in records for text in record.detail.get("claims", {}).values()]
    said = claims + [record.agent for record in records]
    assert max(map(len, said)) <= 100
    assert all(text.isprintable() for text in said)


def test_claim_is_marked_as_one(as_ada, operator):
    named_in_a_message(as_ada)

    record = AuditEvent.objects.get(kind=Kind.PROFILE_CHANGED)
    assert record.detail == {"via": "mcp", "claims": {"client": CUT}, "fields": ["first_name"]}
    assert CUT in operator.get("/admin/audit/record/").content.decode()
