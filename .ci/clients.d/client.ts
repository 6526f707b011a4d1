// A client of the API as programs in TypeScript have it: the types of openapi-typescript, the calls of openapi-fetch.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

export const client = createClient<paths>({
  baseUrl: process.env.GATEWAY!,
  headers: { Authorization: `Bearer ${process.env.DIAG_KEY}`, "User-Agent": "TypeScript" },
});

interface Reply<T> {
  data?: T;
  error?: components["schemas"]["PublicAPIError"];
  response: Response;
}

// Described is never for a result of which the document says nothing.
type Described<T> = unknown extends T ? never : unknown;

function require(holds: boolean, operation: string, reply: Reply<unknown>) {
  if (!holds) throw new Error(`${operation}: ${reply.response.status} ${JSON.stringify(reply.error ?? reply.data)}`);
}

export async function good<T>(operation: string, call: Promise<Reply<T>> & Described<T>) {
  const reply = await call;
  require(reply.response.status === 200 && reply.data !== undefined, operation, reply);
}

export async function bad<T>(operation: string, call: Promise<Reply<T>>) {
  const reply = await call;
  const { code, details } = reply.error ?? {};
  const refused = reply.response.status === 400 && code === "INVALID_REQUEST" && details?.fields?.length === 1;
  require(refused, operation, reply);
}
