# FastMCP's own client.
import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

import given


async def main():
    if given.way == "stdio":
        there = StdioTransport(command=given.command, args=given.args, env=given.env)
    else:
        there = StreamableHttpTransport(given.url, headers=given.headers)
    async with Client(there) as client:
        tools = await client.list_tools()
        result = await client.call_tool(given.tool, given.arguments)
        given.saw(tools, result.content)


asyncio.run(main())
