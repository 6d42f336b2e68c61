# google-adk: a toolset of its agents, asked without a model.
import asyncio

from google.adk.tools.mcp_tool.mcp_session_manager import (
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from mcp import StdioServerParameters

import given


async def main():
    if given.way == "stdio":
        server = StdioServerParameters(
            command=given.command, args=given.args, env=given.env
        )
        there = StdioConnectionParams(server_params=server, timeout=60)
    else:
        there = StreamableHTTPConnectionParams(
            url=given.url, headers=given.headers, timeout=60
        )
    toolset = McpToolset(connection_params=there)
    tools = await toolset.get_tools()
    tool = next(tool for tool in tools if tool.name == given.tool)
    session = await tool._mcp_session_manager.create_session()
    result = await session.call_tool(given.tool, arguments=given.arguments)
    given.saw(tools, result.content)
    await toolset.close()


asyncio.run(main())
