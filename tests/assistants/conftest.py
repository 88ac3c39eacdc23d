"""Messages of the Model Context Protocol, and the steps by which a user connects an app."""

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


def current_headers(body):
    """The headers of a message of revision 2026-07-28."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": body["method"]}
    if "name" in body.get("params", {}):
        headers["Mcp-Name"] = str(body["params"]["name"])
    return headers


def send(api, method, **params):
    """The answer to a valid message of revision 2026-07-28."""
    body = message(method, **params)
    return api.post("/mcp", body, headers=current_headers(body))


def call_tool(api, tool, **arguments):
    """The result of a tool. Fails without a result."""
    answer = send(api, "tools/call", name=tool, arguments=arguments)
    assert answer.status_code == 200, answer.content
    return answer.json()["result"]


def error_of(answer):
    return answer.status_code, answer.json().get("error")


INVALID_GRANT = (400, "invalid_grant")


def app_with(tokens):
    """The app that has these tokens."""
    return API(authorization=f"Bearer {tokens['access_token']}")


def can_call(assistant):
    status = send(assistant, "tools/list").status_code
    assert status in {200, 401}
    return status == 200


@pytest.fixture
def client(db):
    return Client.objects.create(name="Testbench", redirect_uris=[REDIRECT])


def authorization_query(client, **changes):
    """The query with which a valid client sends the browser to /oauth/authorize."""
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


def hidden_fields(page):
    """The hidden fields of a page's form."""
    pairs = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.content.decode())
    return dict(pairs)


class Person:
    """A user in front of a browser, who fills in the forms of /oauth/authorize."""

    def __init__(self, query):
        self.browser = Browser(enforce_csrf_checks=True)
        self.query = query
        self.page = self.browser.get("/oauth/authorize", query)

    def post(self, form, path="/oauth/authorize", headers=None, **query):
        self.page = self.browser.post(
            path,
            urlencode(hidden_fields(self.page) | form),
            content_type="application/x-www-form-urlencoded",
            headers=headers,
            query_params=self.query | query,
        )
        return self.page

    def sign_in(self, email, password=PASSWORD):
        return self.post({"email": email, "password": password})

    def decide(self, decision):
        return self.post({"decision": decision}, step="decision")

    def allow(self):
        """The code that the client gets."""
        return redirect_query(self.decide("allow"))["code"]

    def deny(self):
        return redirect_query(self.decide("deny"))["error"] == "access_denied"


@pytest.fixture
def person(client):
    return Person(authorization_query(client))


@pytest.fixture
def signed_in(person, ada):
    """Ada, who is asked for her decision."""
    person.sign_in(ada.email)
    return person


def redirect_query(response):
    """The query of a redirect to the client."""
    assert response.status_code == 302, response.content
    return dict(parse_qsl(urlsplit(response["Location"]).query))


def authorize(client, user, **changes):
    """The code that a client gets when the user allows it access."""
    person = Person(authorization_query(client, **changes))
    person.sign_in(user.email)
    return person.allow()


def post_form(api, path, **fields):
    """The answer to a form, as OAuth clients send it."""
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
    return post_form(api, "/oauth/token", **fields | changes)


def refresh(api, client, token, **changes):
    fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": str(client.pk)}
    return post_form(api, "/oauth/token", **fields | changes)


@pytest.fixture
def pair(api, client, ada):
    """The tokens of an app that Ada has connected."""
    return redeem(api, client, grant_of(ada, client).authorization_code).json()


def grant_of(user, client):
    fields = {"redirect_uri": REDIRECT, "code_challenge": CHALLENGE.decode()}
    return Grant.objects.create(
        user=user, client=client, token_version=user.token_version, **fields
    )


@pytest.fixture
def assistant(pair):
    return app_with(pair)
