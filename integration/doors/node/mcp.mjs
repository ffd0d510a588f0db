// Makes calls over MCP with the official SDK: a request a line comes in, an outcome a line goes out.
// usage: mcp.mjs stdio COMMAND ARGS... | mcp.mjs http URL
import { createHash, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ProgressNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, target, ...args] = process.argv.slice(2);
const transport = kind === "stdio"
  ? new StdioClientTransport({ command: target, args, env: process.env, stderr: "ignore" })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${process.env.HOTCELL_TOKEN}` } } });
const client = new Client({ name: "doors", version: "1" });
// Not by onprogress: the SDK forgets that one when the answer has come, with progress that came just before it.
const progress = new Map();
client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => progress.get(params.progressToken)?.(params.message));
await client.connect(transport);
await client.listTools(); // so that the SDK checks what has an output schema

const digest = (data) => createHash("sha256").update(data).digest("hex");
const bytes = (one) => (one.text !== undefined ? Buffer.from(one.text) : Buffer.from(one.blob, "base64"));
const named = (uri) => decodeURIComponent(uri.split("/artifacts/")[1]);
const failure = (says) => ({ code: says.error_code, reason: says.detail?.reason ?? "" });

async function outcome(call) {
  const id = call.id ?? randomUUID(), said = [], hangUp = new AbortController();
  const options = { timeout: 180_000, signal: hangUp.signal };
  progress.set(id, (message) => {
    said.push(message);
    if (call.cancel) hangUp.abort();
  });
  let result;
  try {
    result = await client.callTool({ name: call.skill, arguments: call.args, _meta: { progressToken: id, "hotcell/request_id": id } }, undefined, options);
  } catch (error) {
    if (hangUp.signal.aborted) return { ended: id, said };
    if (error.data?.error_code) return { ...failure(error.data), said };
    throw error;
  } finally {
    await new Promise(setImmediate); // what came before the answer is handled
    progress.delete(id);
  }
  if (result.isError) return { ...failure(result.structuredContent), said };
  let data = result.structuredContent;
  const files = {};
  for (const one of result.content) {
    if (one.type === "text") data ??= one.text;
    if (one.type === "resource") files[named(one.resource.uri)] = digest(bytes(one.resource));
    if (one.type === "resource_link" && call.files) {
      const { contents } = await client.readResource({ uri: one.uri });
      files[named(one.uri)] = digest(bytes(contents[0]));
    }
  }
  return { data, said, files };
}

const pending = new Set();
for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  const done = outcome(call).catch((error) => ({ fault: String(error.stack ?? error) }))
    .then((told) => process.stdout.write(JSON.stringify({ n: call.n, ...told }) + "\n"))
    .then(() => pending.delete(done));
  pending.add(done);
}
await Promise.all(pending);
if (kind === "http") await transport.terminateSession();
await client.close();
