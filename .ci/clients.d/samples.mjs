// Runs the programs that the documentation shows: those of each operation, and the commands of guides, must end well at
// the server that serves them; receivers of webhooks must accept signed deliveries, and no others. Go programs are
// compiled, and some of them run. A language without an interpreter is skipped.
import { execFile, spawn, spawnSync } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const server = process.env.DIAG_SERVER, folder = resolve("samples");
const languages = {
  curl: { file: "sample.sh", run: ["bash"] },
  Go: { file: "main.go", run: ["go", "run"] },
  Python: { file: "sample.py", run: ["python3"] },
  JavaScript: { file: "sample.mjs", run: ["node"] },
  PHP: { file: "sample.php", run: ["php"] },
};
const faults = [];
const fault = (...what) => { faults.push(what); console.log(...what); };

const page = async (path) => (await fetch(server + path)).text();
const unescape = (html) => html.replace(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">")
  .replaceAll("&#34;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

// programs are those of a page, by their language.
function programs(html) {
  const found = [...html.matchAll(/<summary>(\w+)<\/summary>\s*<div class="code"><pre><code>(.*?)<\/code>/gs)]
    .map(([, language, text]) => [language, unescape(text)]);
  const commands = [...html.matchAll(/<pre><code>(curl .*?)<\/code>/gs)].map(([, text]) => ["curl", unescape(text)]);
  return [...found.filter(([language]) => languages[language]), ...commands];
}

const paths = [...(await page("/docs")).matchAll(/<a href="(\/docs\/[^"#?]+)"/g)].map(([, path]) => path);
const receivers = programs(await page("/docs/webhooks"));
const samples = new Map(); // each text once
for (const path of new Set(paths)) {
  if (path === "/docs/webhooks") continue;
  for (const [language, text] of programs(await page(path))) samples.set(text, { language, path });
}

// Options that end a command with a fault where the status is one.
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, ".curlrc"), "fail\nsilent\nshow-error\n");
writeFileSync(join(folder, "go.mod"), "module samples\n\ngo 1.26\n");
const environment = { ...process.env, CURL_HOME: folder };
const can = (language) => spawnSync(languages[language].run[0], ["--version"]).error === undefined;

const counts = {};
async function runAll(language, { file, run }) {
  if (!can(language)) {
    console.log(`samples in ${language} were not run: there is no ${run[0]}`);
    return;
  }
  counts[language] = 0;
  for (const [text, sample] of samples) {
    if (sample.language !== language) continue;
    const dir = join(folder, language, String(++counts[language]));
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, file), text + "\n");
    if (language === "Go" && counts.Go % 20 !== 1) continue;
    await promisify(execFile)(run[0], [...run.slice(1), file], { cwd: dir, env: environment })
      .catch((error) => fault(`${sample.path}: ${language} ends with ${error.code}: ${error.stderr}`));
  }
}
await Promise.all(Object.entries(languages).map(([language, how]) => runAll(language, how)));
for (const [language, text] of receivers) {
  const dir = join(folder, language, "receiver");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, languages[language].file), text + "\n");
}
const { status, stderr } = spawnSync("go", ["vet", "./..."], { cwd: folder, encoding: "utf8" });
if (status !== 0) fault(stderr);

// deliver sends a delivery, signed with a secret at a time, and returns the status.
async function deliver(port, { secret, body = '{"event_type":"channel.test"}', age = 0, sent = body, more = "" }) {
  const id = "evt_1", timestamp = String(Math.floor(Date.now() / 1000) - age);
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signature = "v1," + createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": more + signature };
  return (await fetch(`http://localhost:${port}/webhook`, { method: "POST", headers, body: sent })).status;
}

let port = 20000 + Math.floor(Math.random() * 20000);
const secret = "whsec_" + randomBytes(32).toString("base64");
for (const [language] of receivers) {
  if (!can(language)) continue;
  const { file, run } = languages[language];
  const dir = join(folder, language, "receiver");
  let command = [...run, file];
  if (language === "Go") {
    spawnSync("go", ["build", "-o", "receiver", "."], { cwd: dir });
    command = ["./receiver"];
  }
  if (language === "PHP") command = ["php", "-S", `localhost:${++port}`, file];
  else port++;
  const child = spawn(command[0], command.slice(1), {
    cwd: dir, stdio: "ignore", env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
  });
  try {
    for (let tries = 0; ; tries++) {
      try { await fetch(`http://localhost:${port}/`, { method: "POST" }); break; } catch (error) {
        if (tries > 100) throw error;
        await sleep(100);
      }
    }
    const other = "whsec_" + randomBytes(32).toString("base64");
    for (const [what, delivery, want] of [
      ["signed", { secret }, 204], ["with two signatures", { secret, more: "v1,AAAA " }, 204],
      ["changed", { secret, sent: "{}" }, 401], ["old", { secret, age: 400 }, 401],
      ["from the future", { secret, age: -400 }, 401], ["of another secret", { secret: other }, 401],
    ]) {
      const got = await deliver(port, delivery);
      if (got !== want) fault(`the receiver in ${language} answers ${got} to a delivery that is ${what}`);
    }
    const bare = (await fetch(`http://localhost:${port}/webhook`, { method: "POST", body: "{}" })).status;
    if (bare !== 401) fault(`the receiver in ${language} answers ${bare} without a signature`);
  } catch (error) {
    fault(`the receiver in ${language}: ${error}`);
  } finally {
    child.kill();
  }
}

const few = Object.entries(counts).filter(([, n]) => n < 60);
if (few.length) fault("there are few samples:", JSON.stringify(counts));
console.log(`samples: ${JSON.stringify(counts)}, ${receivers.length} receivers, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
