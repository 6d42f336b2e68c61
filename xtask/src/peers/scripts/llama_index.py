# llama-index-tools-mcp: tools as its agents get them.
import asyncio

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

import given


async def main():
    if given.way == "stdio":
        client = BasicMCPClient(given.command, args=given.args, env=given.env)
    else:
        client = BasicMCPClient(given.url, headers=given.headers)
    tools = await McpToolSpec(client).to_tool_list_async()
    tool = next(tool for tool in tools if tool.metadata.name == given.tool)
    given.saw(tools, await tool.acall(**given.arguments))


asyncio.run(main())
