"""The official SDK's OAuth before its second release, as its own client and others' use it."""

import asyncio
from urllib.parse import parse_qs, urlsplit

from door import CALLBACK, ENDPOINT, PERSON, allow, post, revoke
from mcp.client.auth import OAuthClientProvider
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


async def wear(door, whoami):
    """What a grant survives, and a new one when it is revoked; `whoami` is a call that gives the
    person's address."""
    assert await whoami() == PERSON["email"]
    before = memory.tokens.refresh_token
    door.context.token_expiry_time = 1.0  # as if the hour were over
    assert set(await asyncio.gather(*[whoami() for _ in range(3)])) == {PERSON["email"]}
    assert memory.tokens.refresh_token != before
    door.context.current_tokens.refresh_token = before  # an answer was lost
    door.context.token_expiry_time = 1.0
    assert await whoami() == PERSON["email"]
    assert len(visits) == 1
    revoke(memory.tokens.refresh_token, memory.client.client_id)
    assert await whoami() == PERSON["email"]
    assert len(visits) == 2


def refresh(token):
    form = f"grant_type=refresh_token&refresh_token={token}&client_id={memory.client.client_id}"
    status, pair = post("/oauth/token", form)
    if status != 200:
        raise ValueError(pair["error"])
    return pair["access_token"], pair["refresh_token"]
