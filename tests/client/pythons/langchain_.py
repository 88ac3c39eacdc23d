"""langchain-mcp-adapters: an agent's tools, with the tokens that somebody else has got for it."""

import asyncio
import json

from door import ENDPOINT, PERSON, post
from langchain_mcp_adapters.client import MultiServerMCPClient


async def walk():
    _, session = post("/auth/login", PERSON)
    headers = {"Authorization": f"Bearer {session['access_token']}"}
    server = {"transport": "streamable_http", "url": ENDPOINT, "headers": headers}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"us": server}).get_tools()}
    assert len(tools) == 12
    said = await asyncio.gather(*[tools["whoami"].ainvoke({}) for _ in range(3)])
    assert all(PERSON["email"] in json.dumps(one, default=str) for one in said)


asyncio.run(walk())
