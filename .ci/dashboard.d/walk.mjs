// Walks through the dashboard: of the demo, where one is signed in and a month has passed, and of a diagd that has just
// begun.
import { execFileSync } from "node:child_process";
import { check, fault, faults, finish, judged, looks, visitor } from "./browser.mjs";

const { demo, diagd, link, store, program } = process.env;
const api = (origin, secret) => fetch(`${origin}/public/v1/text/upper`, {
  method: "POST", body: '{"text":"ok"}',
  headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
}).then((r) => r.status);

// glance opens pages that nothing is done on.
async function glance(v, pages) {
  for (const [name, path, ...words] of pages) {
    await v.open(path);
    await v.sees(...words);
    await v.look(name);
  }
}

async function domains(v) {
  const { page } = v;
  await glance(v, [
    ["domains", "/dashboard", "10 domains, worst first", "hopeless.example"],
    ["domains-none", "/dashboard?q=nothing", "No domains match"],
    ["domains-filtered", "/dashboard?state=problem&area=mail&sort=-name", "Problems", "of 10 domains"],
    ["domain", "/dashboard/domains/harbour.example", "SPF includes a domain without an SPF record"],
  ]);
  await v.press(page.locator("a.day.critical").last());
  await v.look("domain-day");

  // A watch, from its creation to what it is for.
  await v.open("/dashboard/domains/watch.example");
  await page.getByText("Stop watching").first().click();
  await page.getByLabel("The history of this domain is deleted").check();
  await v.press("Stop watching");
  await v.sees("Domain removed");
  const add = page.locator(".panel").getByRole("button", { name: "Add domains", exact: true });
  await page.locator("summary", { hasText: "Add several" }).click();
  await v.look("domains-form");
  const entries = page.getByLabel("Domains", { exact: true });
  await entries.fill("shop.example\na..b\nhttps://www.bücher.example/kontakt, www.xn--bcher-kva.example\n" +
    "harbour.example");
  await v.press("Preview");
  await v.sees("2 domains would be added", "harbour.example is watched already", "is the same domain as");
  await v.look("domains-preview");
  await entries.fill("a..b\nlocalhost");
  await v.press(add, 422);
  check(await page.locator("#domain[aria-invalid]").count() === 1, "the fault of a domain is not beside it");
  await v.look("domains-fault");
  await entries.fill("watch.example");
  for (const name of ["mail", "dns", "web"]) await page.getByLabel(name, { exact: true }).uncheck();
  await page.getByText("Single operations").click();
  await page.getByLabel("dmarc/lookup", { exact: true }).check();
  await v.press(add);
  await v.sees("Domain added");
  await v.until("#known");
  const value = page.locator(".records code", { hasText: "v=DMARC1" });
  const before = await value.innerText();
  const after = (await (await fetch(`${demo}/change`, { method: "POST" })).text()).match(/"(.*)"/)[1];
  check(before !== after, "the record has not changed", before);
  await v.until(".new");
  const one = (of) => page.locator(`#day .lines ${of}`).first().innerText();
  const old = await one(".old"), now = await one(".new");
  check(old.endsWith(before) && now.endsWith(after), "the event shows", old, now);
  check(await value.innerText() === after, "the record is still shown as", await value.innerText());
  await v.press("Check now");
  await v.until('.scope time:text-is("now")');
  await v.press("Run all checks");
  await v.sees("13 of 14 checks", "Do first");
  await v.look("domain-checked");
  await page.getByText("Change settings").click();
  await page.getByLabel("Frequency").selectOption("6h0m0s");
  await v.press("Save");
  await v.sees("Settings saved");
}

async function channels(v) {
  const { page } = v;
  await v.open("/dashboard/channels");
  await v.until('tr:has-text("domain.record_changed"):has(small:text-matches("^now$|minute")):has-text("delivered")');
  await v.look("channels");
  await v.press(page.locator("tr", { hasText: "domain.record_changed" }).first().getByRole("link"));
  check(await page.locator("nav [aria-current]").innerText() === "Channels", "a delivery is not below the channels");
  await v.look("delivery");
  await v.press("Resend event");
  await v.sees("Event resent", "Replay of");
  await v.until('.badge:text("delivered")');
  await v.look("delivery-again");
  await v.open("/dashboard/channels");
  await page.getByText("Create channel").first().click();
  await page.getByLabel("Name").fill("Night");
  await page.getByLabel("Destination", { exact: true }).fill("ftp://hooks.harbour.example/");
  await v.press("Create channel", 422);
  await v.look("channels-fault");
  await page.getByLabel("Destination", { exact: true }).fill("https://hooks.harbour.example/night");
  await v.press("Create channel");
  check((await page.locator(".secret pre").innerText()).startsWith("whsec_"), "a new channel shows no secret");
  await v.look("channel-new");
  await page.locator('#test-event .badge:text("delivered")').waitFor(); // the page loads itself again
  await v.press("I have saved it");
  check(await page.locator(".secret").count() === 0, "a saved secret is shown");
  await v.press("Send test event");
  await page.locator('#test-event .badge:text("delivered")').waitFor();
  await v.look("channel");
}

async function keys(v) {
  const { page } = v;
  const secret = page.locator(".secret pre");
  await v.open("/dashboard/keys");
  await v.look("keys");
  await page.getByText("Environment, lifetime and allowed IPs").click();
  await page.getByLabel("Name").fill("Website <b>shop</b>");
  await page.getByLabel("Allowed IPs").fill("nowhere");
  await v.press("Create key", 422);
  check(await page.locator("#ip_allowlist[aria-invalid]").count() === 1, "the fault of an address is not beside it");
  await v.look("keys-fault");
  await page.getByLabel("Allowed IPs").fill("127.0.0.0/8, ::1");
  await v.press("Create key");
  await v.look("key-new");
  const first = await secret.innerText(), firstPage = page.url().split("?")[0];
  check(await api(demo, first) === 200, "the new key does not work");
  await v.press("I have saved it");
  check(await secret.count() === 0 && !(await v.text()).includes(first), "the secret of a key is shown twice");
  await v.look("key-fresh");
  await page.getByLabel("Grace period").selectOption({ label: "1 hour" });
  await v.press("Rotate key");
  const second = await secret.innerText();
  const both = await Promise.all([api(demo, first), api(demo, second)]);
  check(first !== second && both.join() === "200,200", "of the rotated key not both work");
  await v.press("I have saved it");
  await page.getByText("Revoke key").first().click();
  await v.press("Revoke key", 422);
  await page.getByLabel("The key stops working immediately").check();
  await v.press("Revoke key");
  await v.sees("revoked");
  check(await api(demo, second) === 401, "a revoked key works");
  await glance(v, [["key", firstPage, "rotating", "Replaced by"]]);
  await v.open("/dashboard/keys");
  await v.sees("Website <b>shop</b>");
}

async function playground(v) {
  const { page } = v;
  await v.open("/dashboard/playground");
  await v.look("playground");
  await v.press(page.getByRole("link", { name: "spf/lookup", exact: true }));
  await v.look("operation");
  await page.getByLabel("Domain required").fill("harbour.example");
  await v.press(page.getByRole("button", { name: /^Run for/ }));
  await v.sees("_spf.gone.example", "$DIAG_KEY");
  await page.getByText("Library").click();
  await v.sees("spf.Lookup");
  await page.getByText("API response").click();
  const json = JSON.parse(await page.locator("details pre").first().innerText());
  check(json.domain === "harbour.example", "there is no JSON");
  await v.look("result");
  await v.press("Share");
  await v.sees("_spf.gone.example"); // the result stays
  const shared = await page.locator("#shared a").getAttribute("href");
  await v.look("result-shared");
  const stranger = await visitor(demo, "stranger");
  const [reply] = await Promise.all([stranger.page.waitForResponse(shared), stranger.open(shared)]);
  check(reply.headers()["x-robots-tag"].includes("noindex"), "a shared result may be indexed");
  check(await stranger.page.locator("meta[name=robots][content*=noindex]").count() === 1, "a saved one may be indexed");
  check((await stranger.context.cookies()).length === 0, "a shared result begins a session");
  await stranger.sees("harbour.example", "_spf.gone.example");
  await stranger.seesNot("svc_", "you@harbour.example", "Harbour Coffee");
  await stranger.look("shared");
  await v.open("/dashboard/shares");
  await v.look("shares");
  const row = page.locator("tr", { hasText: "spf/lookup" }).first();
  await row.getByText("Revoke", { exact: true }).click();
  await v.press(row.getByRole("button", { name: "Revoke link" }));
  await v.look("shares-withdrawn");
  await stranger.open(shared, 410);
  await stranger.look("shared-withdrawn");
  for (const [name, path, selector] of [["qr", "http/qr", "img.reply"], ["text", "text/json/format", "#result"],
    ["dmarc-report", "dmarc/report/analyze", "#result .view"], ["header", "mail/header-analyze", "#result .view"]]) {
    await v.open(`/dashboard/playground/${path}?example`);
    await v.press(page.getByRole("button", { name: /^Run for/ }));
    check(await page.locator(selector).count() > 0, "there is no result of", path, (await v.text()).slice(0, 300));
    await v.look(`result-${name}`);
  }
  await v.open("/dashboard/playground/resolve?example");
  await page.getByLabel("Qname").fill("a..b");
  await v.press(page.getByRole("button", { name: /^Run for/ }));
  check(await page.locator("[aria-invalid]").count() > 0, "the fault of a field is not beside it");
  await v.look("result-fault");
}

async function bills(v) {
  const { page } = v;
  await v.open("/dashboard/billing");
  await v.look("billing");
  await page.getByLabel("Allow overage").check();
  await page.getByLabel("Monthly overage cap").fill("a lot");
  await v.press("Save", 422);
  await v.look("billing-fault");
  await page.getByLabel("Monthly overage cap").fill("25.00");
  await v.press("Save");
  await v.sees("Overage settings saved");
  await v.press(page.locator("tbody th a").first());
  await v.look("invoice");
  await page.getByLabel("Reason").last().fill("It was a trial.");
  await page.getByLabel("I understand that voiding cannot be undone").check();
  await v.press("Void invoice", 422);
  await v.sees("The invoice is paid: write a credit note.");
  await v.look("invoice-fault");
  await page.getByLabel("Amount").fill("5.00");
  await page.getByLabel("Reason").first().fill("It was a trial.");
  await v.press("Issue credit note");
  await v.sees("Credit note issued", "It was a trial.", "you@harbour.example", "5.00 EUR");
  await v.look("invoice-credited");
}

// inhabited is an account with a month behind it.
async function inhabited() {
  const v = await visitor(demo, "owner");
  for (const part of [domains, channels, keys, playground, requests, bills, others]) await walk(part, v);
  return v;
}

// requests are found by filters that compose, and by a part of the ID.
async function requests(v) {
  const { page } = v;
  await glance(v, [["usage", "/dashboard/usage", "By operation", "By key", "INVALID_REQUEST"],
    ["activity", "/dashboard/activity", "spf/lookup"]]);
  await v.press(page.getByRole("link", { name: "7 d", exact: true }));
  await page.getByLabel("Outcome").selectOption("Refused");
  await v.press("Filter");
  check(page.url().includes("range=7d") && page.url().includes("code=refused"), "the address is", page.url());
  const row = page.locator(".requests details").first();
  await row.locator("summary").click();
  await v.sees("Message", "Request ID");
  await v.look("activity-open");
  const id = await row.locator(".code code").innerText();
  await page.getByLabel("Request ID").fill(id.slice(12, 20));
  await v.press("Filter");
  check(await page.locator(".requests li").count() === 1, "a part of an ID finds not one request");
  await page.locator(".requests summary").click();
  await v.sees(id);
  await v.press(page.getByRole("link", { name: "View usage" }));
  await v.look("usage-refused");
  await page.getByText("Show the charts as a table").click();
  await v.look("usage-table");
}

async function others(v) {
  await v.open("/dashboard/spf");
  await v.look("profiles");
  await v.press(v.page.locator("tbody th a").first());
  await v.press(v.page.getByRole("button", { name: /^Resolve now/ }));
  await v.look("profile");
  await v.open("/dashboard/spf");
  await v.page.getByText("Create profile").first().click();
  await v.page.getByLabel("Domain", { exact: true }).fill("not a domain");
  await v.press("Create profile", 422);
  await v.look("profiles-fault");
  await v.page.getByLabel("Domain", { exact: true }).fill("good.example");
  await v.press("Create profile");
  await v.sees("Profile created", "Publish in your zone", "Published for you");
  await v.look("profile-new");
  await v.page.getByText("Remove profile").first().click();
  await v.page.getByLabel("The records are no longer published").check();
  await v.press("Remove profile");
  await v.sees("Profile removed");
  await glance(v, [
    ["log", "/dashboard/log", "Issued a credit note", "Rotated an API key", "127.0.0.1"],
    ["members", "/dashboard/members", "dev@agency.example"],
    ["sessions", "/dashboard/sessions", "this session"], ["letterbox", "/letterbox"]]);
  await v.press("Create an address");
  await v.sees("@localhost.localdomain");
  await v.look("letterbox-address");
  await v.open("/dashboard/domains/foreign.example", 404);
  await v.look("missing");
}

// visit is what visitors do without an account.
async function visit() {
  const v = await visitor(demo, "visitor"), { page } = v;
  await v.open("/");
  await v.sees("Letter box", "Prices", "Sign in");
  await v.look("home");
  await page.locator("#domain").fill("db.internal");
  await v.press("Check", 422);
  await v.sees("private networks");
  await v.look("check-fault");
  await v.open("/");
  await page.locator("#domain").fill("https://harbour.example/");
  await v.press("Check");
  await v.until("h1.verdict");
  await v.sees("Check of harbour.example", "What to do first", "checked just now", "Watch this domain");
  await v.look("check-result");
  await v.open("/check?domain=other.example");
  await v.sees("There is no result of the last ten minutes");
  await v.look("check-none");
}

// enter uses a link, as a person does.
async function enter(v, at) {
  await v.open(at);
  await v.press(v.page.getByRole("button", { name: /^Sign in to / }));
}

// fresh is a server that was just started: entry, members, sessions.
async function fresh() {
  for (let n = 0; n < 3; n++) check((await fetch(link)).status === 200, "a scanner of mails spends the link");
  const owner = await visitor(diagd, "first owner"), { page } = owner;
  await owner.open("/dashboard/keys");
  await owner.sees("diagd member link");
  await owner.look("enter");
  await owner.open(link);
  await owner.sees("Sign in as owner@localhost");
  await owner.look("enter-link");
  await owner.press(page.getByRole("button", { name: /^Sign in to / }));
  const names = ["", "keys", "usage", "activity", "billing", "channels", "spf", "members", "sessions", "log", "shares"];
  await glance(owner, names.map((name) => [`empty-${name || "domains"}`, `/dashboard/${name}`.replace(/\/$/, "")]));
  const late = await visitor(diagd, "late");
  await late.open(link, 404);
  await late.sees("This link was already used");
  await late.look("enter-used");
  await late.open("/"); // where visitors may not check, the field leads to sign-in and keeps the domain
  await late.page.locator("#domain").fill("good.example");
  await late.press("Check");
  await late.sees("Sign in with a one-time link");
  check(late.page.url().includes("good.example"), "sign-in forgets the domain");

  await owner.open("/dashboard/members");
  await page.getByText("Invite member").click();
  await page.getByLabel("Email address").fill("dev@example.com");
  await page.getByLabel("Developer").check();
  await owner.press("Invite");
  await owner.sees("Send this link to dev@example.com");
  const invitation = await page.locator(".secret pre").innerText();
  await owner.look("member-link");
  await owner.press("I have sent it");
  check(await page.locator(".secret").count() === 0, "a link is shown twice");
  await owner.look("member");
  const memberPage = page.url().split("?")[0], developer = await visitor(diagd, "developer");
  await enter(developer, invitation);
  await developer.open("/dashboard/members");
  await developer.seesNot("Invite member");
  await developer.open(memberPage, 403);
  await developer.look("forbidden");

  // An owner sees the sessions of all, and ends one.
  await owner.open("/dashboard/sessions");
  await owner.sees("dev@example.com", "this session");
  await owner.look("sessions-two");
  const row = page.locator("tr", { hasText: "dev@example.com" });
  await row.getByText("Sign out").click();
  await owner.press(row.getByRole("button", { name: "End session" }));
  await developer.open("/dashboard");
  await developer.sees("Sign in with a one-time link");

  // A command makes a link, too. A viewer reads.
  await owner.open(memberPage);
  await page.getByLabel("Viewer").check();
  await owner.press("Change role");
  const made = execFileSync(program, ["member", "link", "dev@example.com", "--store", store, "--public-url", diagd]);
  await enter(developer, made.toString().split("\n")[0].trim());
  await developer.open("/dashboard/keys");
  await developer.seesNot("Create key");
  await developer.open("/dashboard/playground/spf/lookup");
  await developer.sees("Viewers cannot use credits");
  await developer.look("viewer");
  await owner.open(memberPage);
  await page.getByText("Remove member").first().click();
  await page.getByLabel("Removes access").check();
  await owner.press("Remove member");
  await developer.open("/dashboard");
  await developer.sees("Sign in with a one-time link");

  await owner.press("Sign out");
  await owner.sees("You are signed out");
  await owner.look("signed-out");
  await owner.open("/dashboard/keys");
  await owner.seesNot("Create key");
}

// walk goes one way, and tells where it ends before its end.
const walk = (way, ...with_) => way(...with_).catch((e) => fault(way.name, "broke off:", e.stack));

const begun = Date.now();
const [owner] = await Promise.all([walk(inhabited), walk(fresh), walk(visit)]);
await judged();
await walk(owner.paint);
await finish();
console.log(`${looks} pages, ${faults.length} faults in ${Math.round((Date.now() - begun) / 1000)} s`);
process.exit(faults.length ? 1 : 0);
