"""The official Python SDK's client against a running service, in each of its modes."""

import asyncio
import re
from urllib.parse import parse_qs, urlsplit

import httpx  # the SDK's own client: the person's browser below runs in the SDK's event loop
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from tests.assistants.conftest import REDIRECT, hidden_fields
from tests.cast import PASSWORD
from tests.services import Service

pytestmark = pytest.mark.live

EMAIL = "ada@example.com"
LOGIN = {"email": EMAIL, "password": PASSWORD}
MODES = ["legacy", "auto", "2026-07-28"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service like that of `make run`, without PostgreSQL and Redis, with one user."""
    folder = tmp_path_factory.mktemp("mcp")
    database = f"sqlite:///{folder}/db.sqlite3"
    service = Service(folder, DATABASE_URL=database, REDIS_URL="", RATE_LIMIT_CREDENTIAL="1000")
    service.manage("migrate", "-v0")
    yield service.add_operator(EMAIL).start()
    service.stop()


class TokenStorage:
    """The storage for tokens that the SDK's client requires."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


class Person:
    """A user who signs in and allows access, played by a script."""

    def __init__(self):
        self.visits = 0
        self.answer = ""

    async def open(self, address):
        self.visits += 1
        async with httpx.AsyncClient() as browser:
            page = await browser.get(address)
            page = await browser.post(address, data=hidden_fields(page) | LOGIN)
            action = re.search(r'action="([^"]+)"', page.text)[1].replace("&amp;", "&")
            target = str(page.url.join(action))
            answer = await browser.post(target, data=hidden_fields(page) | {"decision": "allow"})
            self.answer = answer.headers["Location"]

    async def return_to_client(self):
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.answer).query).items()}
        return AuthorizationCodeResult(**query)


def run(service, mode, use_client, **options):
    """The result of `use_client`, run with a connected client of this mode."""

    async def connected():
        async with create_mcp_http_client(**options) as http:
            transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                return await use_client(client)

    return asyncio.run(connected())


async def whoami(client):
    return (await client.call_tool("whoami", {})).structured_content


@pytest.mark.parametrize("mode", MODES)
def test_client_with_a_token_lists_and_calls_tools(service, mode):
    async def use_client(client):
        tools = await client.list_tools()
        invitation = await client.call_tool("invite_user", {"email": f"{mode}@example.com"})
        refusal = await client.call_tool("invite_user", {"email": f"{mode}@example.com"})
        invitations = await client.call_tool("list_invitations", {"status": "pending"})
        return tools.tools, invitation, refusal, invitations

    tools, invitation, refusal, invitations = run(
        service, mode, use_client, headers=service.bearer()
    )

    assert len(tools) == 12
    assert invitation.structured_content in invitations.structured_content["items"]
    assert (invitation.is_error, refusal.is_error) == (False, True)
    assert refusal.content[0].text == '{"error":"already invited"}'


def provider_of(service, person, storage):
    metadata = OAuthClientMetadata(client_name="Testbench", redirect_uris=[REDIRECT])
    url = f"{service.url}/mcp"
    return OAuthClientProvider(url, metadata, storage, person.open, person.return_to_client)


@pytest.mark.parametrize("mode", MODES)
def test_client_authorizes_once_and_refreshes_its_token(service, mode):
    person, storage = Person(), TokenStorage()
    provider = provider_of(service, person, storage)

    async def use_client(client):
        before = await whoami(client), storage.tokens
        provider.context.token_expiry_time = 1.0  # as if the hour were over
        return before, (await whoami(client), storage.tokens)

    (user, tokens), (same_user, new_tokens) = run(service, mode, use_client, auth=provider)

    assert user["email"] == same_user["email"] == EMAIL
    assert person.visits == 1
    assert tokens.refresh_token != new_tokens.refresh_token


def test_client_whose_grant_ended_asks_the_user_again(service):
    person, storage = Person(), TokenStorage()
    provider = provider_of(service, person, storage)

    async def use_client(client):
        await whoami(client)
        service.manage("signout", EMAIL)
        return await whoami(client)

    assert run(service, "auto", use_client, auth=provider)["email"] == EMAIL
    assert person.visits == 2
