# The Python SDK of version 1.
import asyncio

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

import given


def reach():
    if given.way == "stdio":
        return stdio_client(
            StdioServerParameters(command=given.command, args=given.args, env=given.env)
        )
    return streamablehttp_client(given.url, headers=given.headers)


async def main():
    async with reach() as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            result = await session.call_tool(given.tool, given.arguments)
            given.saw(tools, result.content)


asyncio.run(main())
