# pydantic-ai: an agent whose model is a function, which asks for one call.
import asyncio

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import given

seen = []


def model(messages, info):
    seen[:] = info.function_tools
    for part in messages[-1].parts:
        if part.part_kind == "tool-return":
            return ModelResponse(parts=[TextPart(str(part.content))])
    return ModelResponse(parts=[ToolCallPart(given.tool, given.arguments)])


async def main():
    if given.way == "stdio":
        there = StdioTransport(command=given.command, args=given.args, env=given.env)
    else:
        there = StreamableHttpTransport(given.url, headers=given.headers)
    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(there)])
    async with agent:
        result = await agent.run("call the tool")
    given.saw(seen, result.output)


asyncio.run(main())
