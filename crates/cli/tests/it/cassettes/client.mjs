// A real client (the SDK that server-everything brings along): makes the requests of a script
// one after the other, answers what it is asked, and prints what came as JSON.
// client.mjs SDK SCRIPT COMMAND ARGS…
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const [sdk, file, command, ...args] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(`${sdk}/${name}`).href);
const { Client } = await part("client/index.js");
const { StdioClientTransport } = await part("client/stdio.js");
const types = await part("types.js");

const script = JSON.parse(readFileSync(file, "utf8"));
const client = new Client(
  { name: "a real client", version: "1" },
  { capabilities: { sampling: {}, elicitation: {} } },
);
let asked = [];
const answer = (schema, method) =>
  client.setRequestHandler(schema, (request) => {
    asked.push({ method, params: { ...request.params, _meta: undefined } });
    return script.answers[method];
  });
answer(types.ElicitRequestSchema, "elicitation/create");
answer(types.CreateMessageRequestSchema, "sampling/createMessage");

await client.connect(
  new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }),
);
const out = [];
for (const { method, params } of script.requests) {
  asked = [];
  const progress = [];
  let came;
  try {
    const result = await client.request({ method, params }, types.ResultSchema, {
      onprogress: (step) => progress.push(step),
      timeout: 60000,
    });
    came = { result };
  } catch (error) {
    came = { error: { code: error.code, message: error.message } };
  }
  out.push({ ...came, progress, asked });
}
console.log(JSON.stringify({ server: client.getServerVersion(), out }));
await client.close();
