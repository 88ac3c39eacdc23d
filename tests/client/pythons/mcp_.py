"""The official SDK before its second release: it does its OAuth by itself, and starts anew when its
grant has ended. Parallel calls after expiry are its own lock's; the door's are tried, too."""

import asyncio
import contextlib
from urllib.parse import parse_qs, urlsplit

from door import CALLBACK, ENDPOINT, PERSON, allow, live, post, revoke
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata


class Memory:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


memory, visits = Memory(), []


async def visit(address):
    visits.append(await asyncio.to_thread(allow, address))


async def come_back():
    query = {name: values[0] for name, values in parse_qs(urlsplit(visits[-1]).query).items()}
    return query["code"], query["state"]


def provider():
    # client_secret_post: what 1.22 registers by default
    metadata = OAuthClientMetadata(
        client_name="SDK",
        redirect_uris=[CALLBACK],
        token_endpoint_auth_method="client_secret_post",
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    return OAuthClientProvider(ENDPOINT, metadata, memory, visit, come_back)


@contextlib.asynccontextmanager
async def connected(door):
    async with (
        streamablehttp_client(ENDPOINT, auth=door) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


async def whoami(session):
    return (await session.call_tool("whoami", {})).structuredContent["email"]


async def walk():
    door = provider()
    async with connected(door) as session:
        assert len((await session.list_tools()).tools) == 12
        assert await whoami(session) == PERSON["email"]
        before = memory.tokens.refresh_token
        door.context.token_expiry_time = 1.0  # as if the hour were over
        assert await asyncio.gather(*[whoami(session) for _ in range(3)])
        assert memory.tokens.refresh_token != before
        door.context.current_tokens.refresh_token = before  # an answer was lost
        door.context.token_expiry_time = 1.0
        assert await whoami(session) == PERSON["email"]
        assert len(visits) == 1
        revoke(memory.tokens.refresh_token, memory.client.client_id)
        assert await whoami(session) == PERSON["email"]
        assert len(visits) == 2


def refresh(token):
    form = f"grant_type=refresh_token&refresh_token={token}&client_id={memory.client.client_id}"
    status, pair = post("/oauth/token", form)
    if status != 200:
        raise ValueError(pair["error"])
    return pair["access_token"], pair["refresh_token"]


asyncio.run(walk())
live(memory.tokens.access_token, memory.tokens.refresh_token, refresh, memory.client.client_id)
