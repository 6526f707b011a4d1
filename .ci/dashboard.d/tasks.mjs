// Does the twelve tasks of a customer in the dashboard of the demo, as a person would, with and without a script. A
// task fails that takes more clicks or pages than it may, or more than two screens of scrolling.
import { check, fault, faults, finish } from "./browser.mjs";
import { Person } from "./person.mjs";

const { demo, key: demoKey } = process.env;
const maxScreens = 2;

async function call(secret, path, body) {
  const reply = await fetch(`${demo}/public/v1/${path}`, {
    method: "POST", body: JSON.stringify(body),
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
  });
  return { status: reply.status, id: reply.headers.get("x-request-id") };
}

// The tasks, with the clicks and the pages that each may take: a click is one on a link, a button or a title that opens
// something; filling in a form is none.
const tasks = {
  "create a key": [2, 2, async (p) => {
    await p.click("Keys");
    await p.fill("Name", `till-${p.script}`);
    await p.choose("dns:read");
    await p.click("Create key");
    const secret = await p.copy(p.page.locator(".secret .code"));
    check((await call(secret, "text/upper", { text: "ok" })).status === 200, "the new key does not work");
  }],
  "run a check": [3, 2, async (p) => {
    await p.click("Playground");
    await p.click("spf/lookup");
    await p.fill(/^Domain/, "harbour.example");
    await p.click(/^Run for/);
    await p.sees("_spf.gone.example");
  }],
  "add a watched domain": [1, 1, async (p) => {
    const domain = p.script ? "open.example" : "stale.example";
    await p.fill("Domain", domain);
    await p.click("Add domain");
    await p.sees(domain);
  }],
  "see what is broken, and copy the record": [2, 1, async (p) => {
    await p.click("harbour.example");
    await p.sees("SPF includes a domain without an SPF record");
    const record = await p.copy(p.page.locator(".record .code"));
    check(record.startsWith("v=spf1 "), "the record to publish is", record);
  }],
  "create a Slack channel, and test it": [4, 2, async (p) => {
    await p.click("Channels");
    await p.fill("Name", `Till ${p.script}`);
    await p.choose(/^Slack/);
    await p.fill("Destination", "https://hooks.slack.com/services/T0/B0/till");
    await p.choose("Send a test event");
    await p.click("Create channel");
    await p.later(p.page.locator("#test-event .badge", { hasText: "delivered" }));
  }],
  "see the usage by day": [1, 1, async (p) => {
    await p.click("Usage");
    await p.sees(p.page.getByRole("img", { name: /^[\d,]+ requests/ }));
    const days = await p.page.locator(".bars").first().locator("title").allTextContents();
    const today = new Date().getUTCDate();
    check(days.length === today && days.every((day) => /^\d+ \w+: \d/.test(day)), "the days are", days);
  }],
  "download the usage as CSV": [2, 1, async (p) => {
    await p.click("Usage");
    const text = await p.download(/CSV/);
    check(text.startsWith("day,key") && text.split("\n").length > 20, "the file is", text.slice(0, 200));
  }],
  "read an invoice": [2, 2, async (p) => {
    await p.click("Billing");
    await p.click(/^2026-|INV-/, p.page.locator("main table tbody"));
    await p.sees(/149\.00|Total/);
  }],
  "rotate a key": [3, 3, async (p) => {
    await p.click("Keys");
    await p.click(p.script ? "Nightly report" : "Newsletter");
    await p.click("Rotate key");
    const secret = await p.copy(p.page.locator(".secret .code"));
    check((await call(secret, "text/upper", { text: "ok" })).status !== 401, "the rotated key does not work");
  }],
  "invite a member": [4, 2, async (p) => {
    await p.click("Members");
    await p.fill(/^Email/, `till-${p.script}@harbour.example`);
    await p.choose(/^Viewer/);
    await p.click("Invite");
    check((await p.copy(p.page.locator(".secret .code"))).startsWith(demo + "/dashboard/enter?"), "there is no link");
  }],
  "share a result": [4, 3, async (p) => {
    await p.click("Playground");
    await p.click("dmarc/lookup");
    await p.fill(/^Domain/, "slip.example");
    await p.click(/^Run for/);
    await p.click("Share");
    await p.sees(demo + "/r/");
  }],
  "find an error by a part of its request id": [3, 1, async (p) => {
    const { id } = await call(demoKey, "spf/lookup", { domain: "harbour..example" });
    await p.click("Activity");
    await p.fill("Request ID", id.slice(-10));
    await p.click("Filter");
    await p.click(/INVALID_REQUEST/);
    await p.sees(id);
    await p.sees("empty label");
  }],
};

for (const script of [false, true]) {
  const p = await Person.at(demo, script);
  console.log(script ? "\nwith the script" : "without a script", "".padEnd(28), "clicks  pages  screens");
  for (const [name, [clicks, pages, run]] of Object.entries(tasks)) {
    await p.begin();
    await run(p).catch((e) => fault(name, "broke off at", p.page.url(), e.message.split("\n").slice(0, 3).join(" ")));
    const screens = p.screens.toFixed(1);
    console.log(name.padEnd(45), `${p.clicks} of ${clicks}`, `${p.pages} of ${pages}`.padStart(7), screens.padStart(7));
    check(p.clicks <= clicks, name, "takes", p.clicks, "clicks");
    check(p.pages <= pages, name, "takes", p.pages, "pages");
    check(p.screens <= maxScreens, name, "is", screens, "screens further down");
  }
  await p.context.close();
}
await finish();
console.log(`${Object.keys(tasks).length} tasks, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
