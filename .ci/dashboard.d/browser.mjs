// What a walk through pages needs: visitors without JavaScript, and a judge of every page that they open.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const { shots, chromium: executablePath } = process.env;
export const browser = await chromium.launch({
  executablePath, timeout: 180000,
  args: ["--no-sandbox", "--disable-gpu", "--in-process-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-software-rasterizer"],
});
const schemes = ["light", "dark"], widths = [360, 800, 1600];
const maxPageBytes = 60 << 10; // of HTML
// A page should be painted within 200 ms, as those are on two idle cores. A fault is what no slow machine explains.
const maxFirstPaint = 1000; // milliseconds

export const faults = [];
export const fault = (...what) => { faults.push(what.join(" ")); console.log(...what); };
export const check = (ok, ...what) => { if (!ok) fault(...what); };
export let looks = 0;

// A judge sees with JavaScript what a visitor saw without: axe is JavaScript. It has the page from the visitor, so that
// it spends nothing that is shown once, and from the server what lies beside it.
const judging = await browser.newContext({ viewport: { width: 800, height: 900 } });
judging.setDefaultTimeout(180000);
const judges = [await judging.newPage(), await judging.newPage()].map((page) => ({ page, done: Promise.resolve() }));
let turn = 0;

async function judge(page, name, url, body) {
  const serve = (route) => route.request().isNavigationRequest()
    ? route.fulfill({ body, contentType: "text/html; charset=utf-8" }) : route.continue();
  await page.route("**/*", serve);
  await page.goto(url);
  for (const [n, colorScheme] of schemes.entries()) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    if (n === 0) await page.evaluate(axe);
    const only = n === 0 ? {} : { runOnly: ["color-contrast"] }; // all else is the same
    const options = { resultTypes: ["violations"], preload: false, ...only };
    const { violations } = await page.evaluate((options) => axe.run(options), options);
    for (const v of violations) {
      const nodes = v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join("\n    ");
      if (["serious", "critical"].includes(v.impact)) fault(name, colorScheme, v.impact, v.id, "\n   ", nodes);
      else if (n === 0) console.log("note:", name, v.impact, v.id, nodes.slice(0, 160));
    }
    for (const width of shots ? [360, 1600] : []) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
  await page.unroute("**/*", serve);
}

// documentSize is how many bytes of HTML a page has, as the server sent it.
const documentSize = (page) => page.evaluate(() => performance.getEntriesByType("navigation")[0].decodedBodySize);

// firstPaint waits until something of a page was painted, and returns after how many milliseconds that was.
async function firstPaint(page) {
  for (;;) {
    const at = await page.evaluate(() => performance.getEntriesByType("paint")[0]?.startTime);
    if (at !== undefined) return at;
    await page.waitForTimeout(10);
  }
}

// A visitor is a browser of its own, for one server.
export async function visitor(origin, who) {
  const viewport = { width: 1280, height: 900 };
  const context = await browser.newContext({ javaScriptEnabled: false, baseURL: origin, viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(180000);
  let refused = 200; // the status that the visitor expects instead of 200
  await context.route("**/*", (route) => {
    if (new URL(route.request().url()).origin === origin) return route.continue();
    fault(who, page.url(), "asks for", route.request().url());
    return route.abort();
  });
  page.on("console", (m) => {
    const expected = refused >= 400 && m.text().includes(`status of ${refused} `);
    if (m.type() === "error" && !expected) fault(who, page.url(), "console:", m.text());
  });
  page.on("pageerror", (e) => fault(who, page.url(), "script:", e.message));
  let reads = true; // whether the page was asked for, and not sent to
  page.on("response", (r) => {
    if (r.request().isNavigationRequest()) reads = r.request().method() === "GET";
    const policy = r.headers()["content-security-policy"] ?? "";
    if (!r.request().isNavigationRequest() || r.status() === 303) return;
    check(policy.includes("default-src 'none'") && !policy.includes("unsafe"), r.url(), "has the policy", policy);
    check(r.status() === refused, who, r.url(), "answers", r.status(), "instead of", refused);
  });
  const v = { page, context };
  const followed = new Set(), paths = new Set();

  // open goes to a page, which answers with a status.
  v.open = async (path, status = 200) => { refused = status; await page.goto(path); return page; };
  // press presses a button, or follows a link, and waits for the page behind it.
  v.press = async (what, status = 200) => {
    refused = status;
    const locator = typeof what === "string" ? page.getByRole("button", { name: what, exact: true }) : what;
    await Promise.all([page.waitForNavigation({ waitUntil: "load" }), locator.click()]);
  };
  v.text = () => page.locator("main").innerText();
  v.sees = async (...words) => {
    const text = await v.text();
    for (const w of words) check(text.includes(w), who, page.url(), "does not show", w, "but", text.slice(0, 400));
  };
  v.seesNot = async (...words) => {
    const text = await v.text();
    for (const w of words) check(!text.includes(w), who, page.url(), "shows", JSON.stringify(w));
  };
  // until loads the page again and again until it shows something.
  v.until = async (selector) => {
    for (let n = 0; n < 600 && await page.locator(selector).count() === 0; n++) {
      await page.waitForTimeout(200);
      await page.reload();
    }
    const shown = await page.locator(selector).count() > 0;
    check(shown, who, page.url(), "never shows", selector, "but", (await v.text()).slice(0, 800));
  };
  // follow asks once for what each link of the page leads to on the same server.
  const follow = async () => {
    const links = await page.$$eval('a[href]:not([href^="#"])', (all) => all.map((a) => a.href.split("#")[0]));
    for (const link of links) {
      if (!link.startsWith(origin + "/") || followed.has(link)) continue;
      followed.add(link);
      const status = (await context.request.get(link)).status();
      check(status < 400, who, page.url(), "links to", link, "which answers", status);
    }
  };
  // paint measures how fast the pages that were looked at appear on a later visit, the best of three.
  v.paint = async () => {
    let slowest = ["", 0];
    for (const path of paths) {
      const times = [];
      for (let n = 0; n < 4; n++) {
        await v.open(path);
        times.push(await firstPaint(page));
      }
      const best = Math.min(...times.slice(1));
      check(best <= maxFirstPaint, who, path, "is painted after", Math.round(best), "ms");
      if (best > slowest[1]) slowest = [path, best];
    }
    console.log(`${who}: ${paths.size} pages painted within ${Math.round(slowest[1])} ms, ${slowest[0]} last`);
  };
  // look judges the page as it is: in windows of three widths here, and by axe in two color schemes beside the walk.
  v.look = async (name) => {
    looks++;
    const { pathname, search } = new URL(page.url());
    if (reads && refused < 400 && search === "") paths.add(pathname);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      const [wide, headings, untold] = await page.evaluate(() => [document.documentElement.scrollWidth,
        document.querySelectorAll("h1").length, document.querySelectorAll("[style], script:not([src])").length]);
      check(wide <= width, who, name, page.url(), `is ${wide} pixels wide in a window of ${width}`);
      check(headings === 1, name, "has", headings, "headings of the first level");
      check(untold === 0, name, "has", untold, "scripts or styles in it");
    }
    const size = await documentSize(page);
    check(size <= maxPageBytes, name, page.url(), "has", Math.round(size / 1024), "KB of HTML");
    await follow();
    const url = page.url(), body = await page.content(), one = judges[turn++ % judges.length];
    one.done = one.done.then(() => judge(one.page, name, url, body))
      .catch((e) => fault(name, "cannot be judged:", e.message));
  };
  return v;
}

// judged waits for all judgements.
export const judged = () => Promise.all(judges.map((j) => j.done));

// finish ends the browser.
export async function finish() {
  await judged();
  await browser.close();
}
