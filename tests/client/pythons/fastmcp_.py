"""fastmcp's client, which does its OAuth by the official SDK of today."""

import asyncio
from urllib.parse import parse_qs, urlsplit

from door import ENDPOINT, PERSON, allow, live, post, revoke
from fastmcp import Client
from fastmcp.client.auth import OAuth
from mcp.shared.auth import AuthorizationCodeResult

visits = []


class Door(OAuth):
    """With the person's browser played by a script."""

    async def redirect_handler(self, authorization_url):
        visits.append(await asyncio.to_thread(allow, authorization_url))

    async def callback_handler(self):
        query = parse_qs(urlsplit(visits[-1]).query)
        return AuthorizationCodeResult(**{name: values[0] for name, values in query.items()})


async def whoami(client):
    return (await client.call_tool("whoami", {})).structured_content["email"]


async def walk():
    door = Door(ENDPOINT, client_name="fastmcp", callback_port=3030)
    async with Client(ENDPOINT, auth=door) as client:
        assert len(await client.list_tools()) == 12
        assert await whoami(client) == PERSON["email"]
        before = door.context.current_tokens.refresh_token
        door.context.token_expiry_time = 1.0  # as if the hour were over
        assert set(await asyncio.gather(*[whoami(client) for _ in range(3)])) == {PERSON["email"]}
        assert door.context.current_tokens.refresh_token != before
        door.context.current_tokens.refresh_token = before  # an answer was lost
        door.context.token_expiry_time = 1.0
        assert await whoami(client) == PERSON["email"]
        assert len(visits) == 1
        revoke(door.context.current_tokens.refresh_token, door.context.client_info.client_id)
        assert await whoami(client) == PERSON["email"]
        assert len(visits) == 2
    return door.context.current_tokens, door.context.client_info.client_id


def refresh(token):
    status, pair = post(
        "/oauth/token", f"grant_type=refresh_token&refresh_token={token}&client_id={client_id}"
    )
    if status != 200:
        raise ValueError(pair["error"])
    return pair["access_token"], pair["refresh_token"]


tokens, client_id = asyncio.run(walk())
live(tokens.access_token, tokens.refresh_token, refresh, client_id)
