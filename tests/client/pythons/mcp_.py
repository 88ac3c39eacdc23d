"""The official SDK before its second release: it does its OAuth by itself, and starts anew when its
grant has ended. Parallel calls after expiry are its own lock's; the door's are tried, too."""

import asyncio

from door import ENDPOINT, live
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from sdk_door import memory, provider, refresh, wear


async def walk():
    door = provider()
    async with (
        streamablehttp_client(ENDPOINT, auth=door) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        assert len((await session.list_tools()).tools) == 12

        async def whoami():
            return (await session.call_tool("whoami", {})).structuredContent["email"]

        await wear(door, whoami)


asyncio.run(walk())
live(memory.tokens.access_token, memory.tokens.refresh_token, refresh, memory.client.client_id)
