// Makes calls over A2A with the official SDK: a request a line comes in, an outcome a line goes out.
// usage: a2a.mjs JSONRPC|HTTP+JSON URL
import { createHash, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const [binding, url] = process.argv.slice(2);
const fetchImpl = (target, init = {}) =>
  fetch(target, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), Authorization: `Bearer ${process.env.HOTCELL_TOKEN}` } });
const factory = binding === "JSONRPC" ? new JsonRpcTransportFactory({ fetchImpl }) : new RestTransportFactory({ fetchImpl });
const client = await new ClientFactory({ transports: [factory], preferredTransports: [binding] }).createFromUrl(url);
const digest = (data) => createHash("sha256").update(data).digest("hex");
const ends = [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED];

async function outcome(call) {
  const said = [], files = {};
  let data, task, end;
  const message = {
    messageId: randomUUID(), contextId: "", taskId: "", role: Role.ROLE_USER, metadata: { skill_id: call.skill }, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: "data", value: call.args }, metadata: undefined, filename: "", mediaType: "application/json" }],
  };
  try {
    for await (const { payload } of client.sendMessageStream({ tenant: "", message, configuration: undefined, metadata: undefined })) {
      if (payload.$case === "task") task = payload.value.id;
      if (payload.$case === "artifactUpdate") {
        const { artifactId, name, parts } = payload.value.artifact;
        if (artifactId === "result") data = parts[0].content.value;
        else files[name] = Buffer.concat([files[name] ?? Buffer.alloc(0), ...parts.map((part) => part.content.value)]);
      }
      if (payload.$case === "statusUpdate") {
        const { status, metadata } = payload.value;
        if (ends.includes(status.state)) end = { state: status.state, ...metadata };
        else if (metadata?.kind === "progress") {
          said.push(status.message.parts[0].content.value);
          if (call.cancel) await client.cancelTask({ tenant: "", id: task, metadata: undefined });
        }
      }
    }
  } catch (error) {
    if (/unknown skill/.test(error.message)) return { code: "unknown_skill", said };
    throw error;
  }
  if (end.state !== TaskState.TASK_STATE_COMPLETED) return { code: end.error_code, reason: end.reason ?? "", said };
  return { data, said, files: Object.fromEntries(Object.entries(files).map(([name, content]) => [name, digest(content)])) };
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
