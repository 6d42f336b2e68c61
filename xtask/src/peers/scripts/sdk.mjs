// The TypeScript SDK of version 1: lists and calls by the way that it is given.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";

const given = JSON.parse(process.env.PEERS);
const client = new Client({ name: "peers-sdk", version: "1" }, { capabilities: {} });
if (given.way === "stdio") {
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { command, args, env } = given;
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "inherit" }));
} else {
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  const requestInit = { headers: { Authorization: `Bearer ${given.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(given.url), { requestInit }));
}
const { tools } = await client.listTools();
console.log(`tools=${tools.length}`);
const result = await client.callTool({ name: given.tool, arguments: given.arguments });
console.log(`said=${JSON.stringify(result.content)}`);
await client.close();
