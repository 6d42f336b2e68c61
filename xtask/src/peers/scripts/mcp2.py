# The Python SDK of version 2, which chooses the era by itself or is told.
import asyncio

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import given


async def main():
    async with httpx2.AsyncClient(headers=given.headers, timeout=60) as http:
        if given.way == "stdio":
            there = stdio_client(
                StdioServerParameters(command=given.command, args=given.args, env=given.env)
            )
        else:
            there = streamable_http_client(given.url, http_client=http)
        async with Client(there, mode=given.mode or "auto") as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool(given.tool, given.arguments)
            given.saw(tools, result.content)


asyncio.run(main())
