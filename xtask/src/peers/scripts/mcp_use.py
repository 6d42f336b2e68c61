# mcp-use for Python: a session of its client, without a model.
import asyncio

from mcp_use import MCPClient

import given

STDIO = {"command": given.command, "args": given.args, "env": given.env}
HTTP = {"url": given.url, "headers": given.headers}


async def main():
    client = MCPClient.from_dict(
        {"mcpServers": {"sb": STDIO if given.way == "stdio" else HTTP}}
    )
    session = await client.create_session("sb")
    tools = await session.list_tools()
    result = await session.call_tool(given.tool, given.arguments)
    given.saw(tools, result.content)
    await client.close_all_sessions()


asyncio.run(main())
