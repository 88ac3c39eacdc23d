"""Messages of the Model Context Protocol, and an assistant that a person lets in."""

import base64
import hashlib
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.conf import settings
from django.test import Client as Browser

from assistants.models import Client, Grant
from tests.cast import PASSWORD
from tests.clients import API

RESOURCE = f"{settings.SERVICE_URL}/mcp"
REDIRECT = "http://127.0.0.1:3030/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "Testbench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META} | params}


def modern(body):
    """The headers that go with a message of the modern era."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": body["method"]}
    if "name" in body.get("params", {}):
        headers["Mcp-Name"] = str(body["params"]["name"])
    return headers


def send(api, method, **params):
    """The answer to a well-formed message of the modern era."""
    body = message(method, **params)
    return api.post("/mcp", body, headers=modern(body))


def use(api, tool, **arguments):
    """The result of a tool, which has to be one."""
    answer = send(api, "tools/call", name=tool, arguments=arguments)
    assert answer.status_code == 200, answer.content
    return answer.json()["result"]


@pytest.fixture
def client(db):
    return Client.objects.create(name="Testbench", redirect_uris=[REDIRECT])


def request_of(client, **changes):
    """The query of a request to be let in, as a well-behaved client makes it."""
    query = {
        "response_type": "code",
        "client_id": str(client.pk),
        "redirect_uri": client.redirect_uris[0],
        "code_challenge": CHALLENGE.decode(),
        "code_challenge_method": "S256",
        "resource": RESOURCE,
        "scope": "mcp",
        "state": "state-of-the-client",
    }
    return {name: value for name, value in (query | changes).items() if value}


def hidden(page):
    """The hidden fields of a page's form."""
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.content.decode())
    return dict(found)


class Person:
    """Somebody in front of a browser, who fills the page's forms in."""

    def __init__(self, query):
        self.browser = Browser(enforce_csrf_checks=True)
        self.query = query
        self.page = self.browser.get("/oauth/authorize", query)

    def post(self, form, **query):
        self.page = self.browser.post(
            "/oauth/authorize",
            urlencode(hidden(self.page) | form),
            content_type="application/x-www-form-urlencoded",
            query_params=self.query | query,
        )
        return self.page

    def sign_in(self, email, password=PASSWORD):
        return self.post({"email": email, "password": password})

    def decide(self, decision):
        return self.post({"decision": decision}, step="decision")


def answered(response):
    """What a redirect tells the client."""
    assert response.status_code == 302, response.content
    return dict(parse_qsl(urlsplit(response["Location"]).query))


def let_in(client, user, **changes):
    """The code that a client gets when the user says yes."""
    person = Person(request_of(client, **changes))
    person.sign_in(user.email)
    return answered(person.decide("allow"))["code"]


def form(api, path, **fields):
    """An answer to a form as OAuth clients send it."""
    return api.client.post(path, urlencode(fields), "application/x-www-form-urlencoded")


def redeem(api, client, code, **changes):
    fields = {
        "grant_type": "authorization_code",
        "client_id": str(client.pk),
        "code": code,
        "redirect_uri": client.redirect_uris[0],
        "code_verifier": VERIFIER,
        "resource": RESOURCE,
    }
    return form(api, "/oauth/token", **fields | changes)


def refresh(api, client, token, **changes):
    fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": str(client.pk)}
    return form(api, "/oauth/token", **fields | changes)


@pytest.fixture
def pair(api, client, ada):
    """The tokens of an assistant that Ada has let in."""
    return redeem(api, client, grant_of(ada, client).authorization_code).json()


def grant_of(user, client):
    facts = {"redirect_uri": REDIRECT, "code_challenge": CHALLENGE.decode()}
    return Grant.objects.create(user=user, client=client, token_version=user.token_version, **facts)


@pytest.fixture
def assistant(pair):
    return API(authorization=f"Bearer {pair['access_token']}")
