// Stands between clients and the server, and judges every reply by the OpenAPI document: the operation has its status
// and media type, the schema takes its body, and it has a request id.
//
//	node gateway.mjs openapi.json http://server
//
// It prints its address. Ended, it fails for each fault, and for an operation that a client did not call well and
// badly.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [file, server] = process.argv.slice(2);
const clients = ["Go", "TypeScript"]; // by User-Agent
const doc = JSON.parse(readFileSync(file, "utf8"));
const ajv = new Ajv2020({ strict: false, formats: { "idn-hostname": true } });
addFormats.default(ajv);
ajv.addSchema(doc, "doc", undefined, false);

const routes = Object.entries(doc.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, op]) => ({
  method: method.toUpperCase(), path: new RegExp(`^${path.replace(/\{.*?\}/g, "[^/]+")}$`), op,
  at: ["paths", path, method],
}))).filter((route) => route.op["x-scope"]); // all but the document itself

const seen = {}; // client and operation to statuses
let replies = 0, faults = 0;
const fault = (...what) => { faults++; console.log(...what); };

function judge({ op, at }, status, headers, body) {
  replies++;
  const ref = op.responses[status]?.$ref;
  at = ref ? ref.slice(2).split("/") : [...at, "responses", String(status)];
  const response = at.reduce((v, name) => v?.[name], doc), media = headers.get("content-type");
  if (!response?.content[media]) return fault(op.operationId, status, media, "is not in the document");
  const id = headers.get("x-request-id");
  if (!/^req_[a-z2-7]{26}$/.test(id)) fault(op.operationId, status, "has the request id", id);
  if (media !== "application/json") return;
  const pointer = [...at, "content", media, "schema"]
    .map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1")));
  const takes = ajv.getSchema(`doc#/${pointer.join("/")}`), value = JSON.parse(body);
  if (!takes(value)) fault(op.operationId, status, ajv.errorsText(takes.errors), String(body));
  const codes = response["x-codes"]; // of the errors
  if (codes && !codes.includes(value.code)) fault(op.operationId, status, "has the code", value.code);
  if (codes && value.request_id !== id) fault(op.operationId, status, "has the request id", value.request_id);
}

const gateway = createServer(async (request, reply) => {
  const url = new URL(request.url, server), sent = await buffer(request);
  const headers = Object.fromEntries(["authorization", "content-type"].filter((name) => request.headers[name])
    .map((name) => [name, request.headers[name]]));
  const answer = await fetch(url, { method: request.method, headers, body: sent.length ? sent : undefined });
  const body = Buffer.from(await answer.arrayBuffer());
  const route = routes.find((r) => r.method === request.method && r.path.test(url.pathname));
  if (route) {
    judge(route, answer.status, answer.headers, body);
    (seen[`${request.headers["user-agent"]} ${route.op.operationId}`] ??= []).push(answer.status);
  } else fault(request.method, url.pathname, "is not in the document");
  reply.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body);
}).listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${gateway.address().port}`));

process.on("SIGTERM", () => {
  for (const client of clients) {
    for (const { op } of routes) {
      const statuses = seen[`${client} ${op.operationId}`] ?? [];
      const both = statuses.includes(200) && statuses.some((status) => status >= 400);
      if (!both) fault(client, op.operationId, "had", statuses.join());
    }
  }
  const by = clients.join(" and ");
  console.log(`${routes.length} operations called well and badly in ${by}: ${replies} replies, ${faults} faults`);
  process.exit(faults ? 1 : 0);
});
