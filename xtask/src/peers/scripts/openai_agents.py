# openai-agents: a server of its agents, asked without a model.
import asyncio

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

import given


async def main():
    if given.way == "stdio":
        params = {"command": given.command, "args": given.args, "env": given.env}
        server = MCPServerStdio(params=params, client_session_timeout_seconds=60)
    else:
        params = {"url": given.url, "headers": given.headers}
        server = MCPServerStreamableHttp(params=params, client_session_timeout_seconds=60)
    async with server:
        tools = await server.list_tools()
        result = await server.call_tool(given.tool, given.arguments)
        given.saw(tools, result.content)


asyncio.run(main())
