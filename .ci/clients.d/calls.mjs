// Writes calls.ts: for each operation in the OpenAPI document a good call, made from its examples, which the compiler
// must accept, and a bad one, which it must refuse.
import { readFileSync, writeFileSync } from "node:fs";

const doc = JSON.parse(readFileSync("openapi.json", "utf8"));
const lines = ['import { bad, client, good } from "./client.js";\n'];
for (const [path, methods] of Object.entries(doc.paths)) {
  for (const [method, op] of Object.entries(methods)) {
    if (!op["x-scope"]) continue; // the document itself
    const inPath = op.parameters.filter((p) => p.in === "path").map((p) => [p.name, p.schema.examples[0]]);
    const right = inPath.length ? { params: { path: Object.fromEntries(inPath) } } : {};
    const wrong = structuredClone(right);
    if (op.requestBody) {
      const { example, schema } = op.requestBody.content["application/json"];
      const [name = "no_such_field"] = [...Object.keys(example), ...Object.keys(schema.properties)];
      right.body = example;
      wrong.body = { ...example, [name]: { no: "such value" } };
    } else wrong.params = { ...right.params, query: { no_such_parameter: 1 } };
    if (!op.responses[200].content["application/json"]) right.parseAs = "arrayBuffer"; // an image
    const client = `client.${method.toUpperCase()}`;
    const call = (init) => `("${op.operationId}", ${client}(${JSON.stringify(path)}, ${JSON.stringify(init)}));`;
    lines.push(`await good${call(right)}`, "// @ts-expect-error", `await bad${call(wrong)}`);
  }
}
writeFileSync("calls.ts", lines.join("\n") + "\n");
