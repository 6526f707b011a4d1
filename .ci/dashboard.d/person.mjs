// A person at a page: finds links, buttons and fields by their visible names, and counts what it takes to reach them.
import { browser, fault } from "./browser.mjs";

const height = 900;

// A Person begins each task on the page of the domains, signed in.
export class Person {
  constructor(page, origin) {
    Object.assign(this, { page, origin });
    page.on("framenavigated", (frame) => {
      if (frame === page.mainFrame() && frame.url().split("?")[0] !== this.at) this.pages++;
      this.at = frame.url().split("?")[0];
    });
  }

  static async at(origin, script) {
    const viewport = { width: 1280, height };
    const context = await browser.newContext({ javaScriptEnabled: script, baseURL: origin, viewport });
    if (script) await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    const page = await context.newPage();
    page.setDefaultTimeout(60000);
    page.on("console", (m) => m.type() === "error" && fault(page.url(), "console:", m.text()));
    page.on("pageerror", (e) => fault(page.url(), "script:", e.message));
    page.on("request", (r) => new URL(r.url()).origin === origin || fault(page.url(), "asks for", r.url()));
    return Object.assign(new Person(page, origin), { context, script });
  }

  async begin() {
    await this.page.goto("/dashboard");
    Object.assign(this, { clicks: 0, pages: 0, screens: 0 });
  }

  // visible waits for the first visible one of what is found, and notes how far a person has to scroll to it. What is
  // inside closed details is opened first, by a click.
  async visible(locator) {
    const one = locator.filter({ visible: true }).first();
    await locator.first().waitFor({ state: "attached" });
    if (await one.count() === 0) {
      const details = this.page.locator("details:not([open])").filter({ has: locator });
      if (await details.count() > 0) await this.press(details.first().locator("summary").first());
    }
    await one.waitFor();
    const y = await one.evaluate((e) => e.getBoundingClientRect().bottom);
    this.screens = Math.max(this.screens, y / height - 1);
    return one;
  }

  // click clicks on what has a name: a link, a button or the title of details, in a part of the page if one is given.
  async click(name, part = this.page) {
    const named = { name, exact: typeof name === "string" };
    const buttons = part.getByRole("link", named).or(part.getByRole("button", named)).and(part.locator("a, button"));
    const whole = named.exact ? new RegExp(`^${name}$`) : name;
    const titles = part.locator("summary").filter({ hasText: whole });
    const one = await this.visible(await buttons.count() > 0 ? buttons : titles);
    const leaves = await one.evaluate((e) => e.tagName === "A" ? !e.hasAttribute("download") &&
      e.getAttribute("href")[0] !== "#" : e.type === "submit" && !e.closest("form").dataset.live);
    await this.press(one, leaves);
  }

  async press(one, leaves) {
    this.clicks++;
    await Promise.all([leaves && this.page.waitForNavigation({ waitUntil: "load" }), one.click()]);
  }

  async fill(label, value) {
    await (await this.visible(this.page.getByLabel(label, { exact: typeof label === "string" }))).fill(value);
  }

  // choose picks an option of a select, or checks a box.
  async choose(label, option) {
    const one = await this.visible(this.page.getByLabel(label, { exact: typeof label === "string" }));
    await (option ? one.selectOption(option) : one.check());
  }

  // sees waits for a text, or for what a locator finds.
  async sees(what) {
    const isText = typeof what === "string" || what instanceof RegExp;
    const locator = isText ? this.page.locator("main").getByText(what) : what;
    return (await this.visible(locator)).textContent();
  }

  // later waits for what appears by itself where there is a script, and otherwise on a later visit.
  async later(locator) {
    for (let n = 0; !this.script && n < 50 && await locator.count() === 0; n++) {
      await this.page.waitForTimeout(200);
      await this.page.reload();
    }
    await this.visible(locator);
  }

  // copy takes the text of a block of code: with its button, or by hand where there is no script. It is no click of the
  // way to the text.
  async copy(block) {
    const text = (await (await this.visible(block.locator("code"))).innerText()).trim();
    if (!this.script) return text;
    await block.getByRole("button", { name: "Copy", exact: true }).first().click();
    const copied = await this.page.evaluate(() => navigator.clipboard.readText());
    if (copied.trim() !== text) fault(this.page.url(), "copies", copied, "instead of", text);
    return copied.trim();
  }

  // download clicks on a link to a file, and returns its text.
  async download(name) {
    const [file] = await Promise.all([this.page.waitForEvent("download"), this.click(name)]);
    const stream = await file.createReadStream(), parts = [];
    for await (const part of stream) parts.push(part);
    return Buffer.concat(parts).toString();
  }
}
