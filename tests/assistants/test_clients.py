"""The official Python SDK's client against a running service, in both eras of the protocol."""

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
from mcp.shared.exceptions import MCPError

from tests.assistants.conftest import REDIRECT, hidden
from tests.cast import PASSWORD
from tests.services import Service

pytestmark = pytest.mark.live

EMAIL = "ada@example.com"
LOGIN = {"email": EMAIL, "password": PASSWORD}
ERAS = ["legacy", "auto", "2026-07-28"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service as `make run` has it, with one person: no PostgreSQL, no Redis."""
    folder = tmp_path_factory.mktemp("mcp")
    database = f"sqlite:///{folder}/db.sqlite3"
    service = Service(folder, DATABASE_URL=database, REDIS_URL="", RATE_LIMIT_CREDENTIAL="1000")
    service.manage("migrate", "-v0")
    yield service.add_operator(EMAIL).start()
    service.stop()


class Memory:
    """What the SDK's client keeps between its calls."""

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
    """Somebody who signs in and says yes, in a browser that a script plays."""

    def __init__(self):
        self.visits = 0
        self.answer = ""

    async def open(self, address):
        self.visits += 1
        async with httpx.AsyncClient() as browser:
            page = await browser.get(address)
            page = await browser.post(address, data=hidden(page) | LOGIN)
            action = re.search(r'action="([^"]+)"', page.text)[1].replace("&amp;", "&")
            target = str(page.url.join(action))
            answer = await browser.post(target, data=hidden(page) | {"decision": "allow"})
            self.answer = answer.headers["Location"]

    async def come_back(self):
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.answer).query).items()}
        return AuthorizationCodeResult(**query)


def run(service, era, act, **options):
    """What `act` gives, done with a client of this era that is connected."""

    async def connected():
        async with create_mcp_http_client(**options) as http:
            transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
            async with Client(transport, mode=era) as client:
                return await act(client)

    return asyncio.run(connected())


async def whoami(client):
    return (await client.call_tool("whoami", {})).structured_content


@pytest.mark.parametrize("era", ERAS)
def test_client_with_a_token_lists_and_calls(service, era):
    async def act(client):
        tools = await client.list_tools()
        invited = await client.call_tool("invite_user", {"email": f"{era}@example.com"})
        refused = await client.call_tool("invite_user", {"email": f"{era}@example.com"})
        listed = await client.call_tool("list_invitations", {"status": "pending"})
        return tools.tools, invited, refused, listed

    tools, invited, refused, listed = run(service, era, act, headers=service.bearer())

    assert len(tools) == 12
    assert invited.structured_content in listed.structured_content["items"]
    assert (invited.is_error, refused.is_error) == (False, True)
    assert refused.content[0].text == '{"error":"already invited"}'


@pytest.mark.parametrize("era", ERAS)
def test_client_is_told_of_an_unknown_tool(service, era):
    with pytest.raises((MCPError, ExceptionGroup)) as refusal:
        run(service, era, lambda client: client.call_tool("rm", {}), headers=service.bearer())

    assert refusal.group_contains(MCPError, match="Unknown tool") or "Unknown tool" in str(
        refusal.value
    )


def door_of(service, person, memory):
    metadata = OAuthClientMetadata(client_name="Testbench", redirect_uris=[REDIRECT])
    url = f"{service.url}/mcp"
    return OAuthClientProvider(url, metadata, memory, person.open, person.come_back)


@pytest.mark.parametrize("era", ERAS)
def test_client_gets_in_by_itself_and_stays_in(service, era):
    person, memory = Person(), Memory()
    door = door_of(service, person, memory)

    async def act(client):
        first = await whoami(client), memory.tokens
        door.context.token_expiry_time = 1.0  # as if the hour were over
        return first, (await whoami(client), memory.tokens)

    (me, tokens), (still_me, renewed) = run(service, era, act, auth=door)

    assert me["email"] == still_me["email"] == EMAIL
    assert person.visits == 1
    assert tokens.refresh_token != renewed.refresh_token


def test_client_whose_grant_ended_asks_again(service):
    person, memory = Person(), Memory()
    door = door_of(service, person, memory)

    async def act(client):
        await whoami(client)
        service.manage("signout", EMAIL)
        return await whoami(client)

    assert run(service, "auto", act, auth=door)["email"] == EMAIL
    assert person.visits == 2
