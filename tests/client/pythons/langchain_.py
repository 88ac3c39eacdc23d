"""langchain-mcp-adapters: an agent's tools, each call over a connection of its own, with the
official SDK's OAuth."""

import asyncio
import json

from door import ENDPOINT, live
from langchain_mcp_adapters.client import MultiServerMCPClient
from sdk_door import memory, provider, refresh, wear


async def walk():
    door = provider()
    server = {"transport": "streamable_http", "url": ENDPOINT, "auth": door}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"us": server}).get_tools()}
    assert len(tools) == 12

    async def whoami():
        (block,) = await tools["whoami"].ainvoke({})
        return json.loads(block["text"])["email"]

    await wear(door, whoami)


asyncio.run(walk())
live(memory.tokens.access_token, memory.tokens.refresh_token, refresh, memory.client.client_id)
