# langchain-mcp-adapters: tools as LangChain's agents get them.
import asyncio

from langchain_mcp_adapters.client import MultiServerMCPClient

import given

STDIO = {
    "transport": "stdio",
    "command": given.command,
    "args": given.args,
    "env": given.env,
}
HTTP = {"transport": "streamable_http", "url": given.url, "headers": given.headers}


async def main():
    client = MultiServerMCPClient({"sb": STDIO if given.way == "stdio" else HTTP})
    tools = await client.get_tools()
    tool = next(tool for tool in tools if tool.name == given.tool)
    given.saw(tools, await tool.ainvoke(given.arguments))


asyncio.run(main())
