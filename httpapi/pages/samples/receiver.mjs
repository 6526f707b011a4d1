import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");

// verify reports whether a delivery was signed with the key, at most five minutes ago.
function verify(headers, body) {
  const id = headers["webhook-id"], timestamp = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const want = Buffer.from("v1," + mac);
  return (headers["webhook-signature"] ?? "").split(" ").some((signature) => {
    const given = Buffer.from(signature);
    return given.length === want.length && timingSafeEqual(given, want);
  });
}

createServer(async (request, reply) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const valid = request.method === "POST" && verify(request.headers, body);
  if (valid) console.log(request.headers["webhook-id"], body.toString());
  reply.writeHead(valid ? 204 : 401).end();
}).listen(Number(process.env.PORT), "localhost");
