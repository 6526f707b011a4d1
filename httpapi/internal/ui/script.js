// What pages do beyond what they do without it: blocks of code can be copied, lists can be filtered, and examples name
// this server.
"use strict";

// Records to publish in the view of a result, whose markup is that of files without a script, too.
for (const pre of document.querySelectorAll(".view .steps pre")) {
  const box = document.createElement("div"), button = document.createElement("button");
  Object.assign(button, { type: "button", className: "plain", textContent: "Copy", hidden: true });
  button.dataset.copy = "";
  box.className = "code";
  pre.replaceWith(box);
  box.append(pre, button);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) break; // without TLS
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").innerText);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

for (const input of document.querySelectorAll("[data-filter]")) {
  const items = [...document.getElementById(input.dataset.filter).children];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const status = document.getElementById("count");
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, i) => {
      item.hidden = !words.every((word) => texts[i].includes(word));
      if (!item.hidden) shown++;
    });
    if (status) status.textContent = words.length ? shown + " of " + items.length + " entries" : "";
  };
  input.closest("label").hidden = false;
  input.addEventListener("input", filter);
}

// Links of earlier versions to findings in the page of an operation that lists them no more.
const anchor = location.hash.slice(1);
const isCode = /^[a-z]+[._][a-z0-9._]+$/.test(anchor) && /^\/docs\/.+\/.+/.test(location.pathname);
if (isCode && !document.getElementById(anchor)) {
  location.replace("/docs/findings/" + anchor);
}

for (const origin of document.querySelectorAll("[data-origin]")) origin.textContent = location.origin;

// A part of a page that waits for something is replaced by the same part of the address that it names, until that names
// none; so are other parts that show the same.
async function poll(part) {
  while (part && part.dataset.poll) {
    await new Promise((done) => { setTimeout(done, 1000); });
    const reply = await fetch(part.dataset.poll).catch(() => null);
    if (!reply || !reply.ok) return;
    const page = new DOMParser().parseFromString(await reply.text(), "text/html"), next = page.getElementById(part.id);
    if (next) part.replaceWith(next);
    for (const live of document.querySelectorAll("[data-live]")) {
      const now = page.getElementById(live.id);
      if (now) live.replaceWith(now);
    }
    part = next;
  }
}
document.querySelectorAll("[data-poll]").forEach(poll);

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => { print(); });
}
