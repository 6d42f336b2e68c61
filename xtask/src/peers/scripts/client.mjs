// The TypeScript client of version 2, which chooses the era by itself or is told.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const given = JSON.parse(process.env.PEERS);
const { command, args, env } = given;
const options = given.mode ? { versionNegotiation: { mode: given.mode } } : {};
const client = new Client({ name: "peers-client", version: "1" }, options);
const requestInit = { headers: { Authorization: `Bearer ${given.token}` } };
await client.connect(
  given.way === "stdio"
    ? new StdioClientTransport({ command, args, env, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(given.url), { requestInit }),
);
const { tools } = await client.listTools();
console.log(`tools=${tools.length}`);
const result = await client.callTool({ name: given.tool, arguments: given.arguments });
console.log(`said=${JSON.stringify(result.content)}`);
await client.close();
process.exit(0);
