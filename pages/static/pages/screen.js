/* What every page says and shows while something is done: the one status region, the line at the top
while a page is slow, busy buttons, the question before what cannot be taken back. */

const SLOW = 250; // milliseconds after which somebody wants to know that something goes on
const KEPT = "said"; // in sessionStorage: what the next document is to say

const words = new Map(Object.entries(JSON.parse(document.getElementById("words").textContent)));

/* Our words for a key; a key without words (a server's own sentence) stands for itself. */
export const say = (key, values = {}) =>
  words.get(key)?.replace(/\{(\w+)\}/g, (_, name) => values[name]) ?? key;
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
export const one = (selector, root = document) => root.querySelector(selector);

/* A text whose emails stay in one line, or else break where people expect it: after `@` and dots.
What stands between <a> and </a> leads to a new password. */
export function write(element, text) {
  const parts = text.split(/(\S+@\S+|<a>.+?<\/a>)/);
  const mark = (part) => (part.startsWith("<a>") ? anchor("/forgot-password", part.slice(3, -4)) : email(part));
  element.replaceChildren(...parts.map((part, n) => (n % 2 ? mark(part) : part)));
}

export function anchor(href, text) {
  return Object.assign(document.createElement("a"), { href, textContent: text });
}

function email(text) {
  const span = document.createElement("span");
  span.className = "email";
  const parts = text.split(/(?<=[@.])(?=.)/);
  span.append(...parts.flatMap((part, n) => (n ? [document.createElement("wbr"), part] : [part])));
  return span;
}

/* In an open dialog the status region stands first; where a page is one card, below its heading, above
the fields; else over the top of the page, where it moves nothing. It is put there before it says anything: a region that comes with its
text is not read aloud. */
export function place() {
  const dialog = one("main dialog[open]");
  if (dialog) return dialog.firstChild === one("#status") || dialog.prepend(one("#status"));
  const headings = all("main > .card:only-of-type:not(.wide) h1");
  const heading = headings.find((found) => found.checkVisibility());
  if (!heading) return one("#said").append(one("#status"));
  const above = one(":scope > .lead, :scope > .small", heading.parentElement) ?? heading;
  if (above.nextElementSibling !== one("#status")) above.after(one("#status"));
}

/* Say something in the status region, in the place of what stood there. `kind` is "good", "bad" or
"wait"; "" says nothing any more. */
export function announce(text, kind = "good") {
  place();
  const status = one("#status");
  status.setAttribute("aria-live", kind === "bad" ? "assertive" : "polite");
  status.dataset.kind = kind;
  write(status, text);
}

/* Say it when another document has been loaded. */
export const announceNext = (text) => sessionStorage.setItem(KEPT, text);

export function announceKept() {
  const text = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (text) announce(text);
}

/* What went wrong, in words: the API's errors and the browser's about passkeys by their own, the rest
by what they mean here. */
export function problem(error) {
  if (!error.status) return say(words.has(error.name) ? error.name : "unreachable");
  if (error.status === 429) return say(tooMany());
  if (error.status >= 500) return say(error.status === 503 ? "service unavailable" : "internal error");
  return say(error.body?.cause ?? error.message);
}

/* No lock stops who asks for a link; who has one can use it later. */
function tooMany() {
  if (one("main form[data-sent]")) return "rate_limited";
  return one("main form[data-link]") ? "too many attempts: link" : "too many attempts";
}

/* The line at the top, while the work takes longer than a moment. */
let pending = 0;
export async function withProgress(work) {
  pending += 1;
  const timer = setTimeout(() => (one("#progress").hidden = false), SLOW);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    pending -= 1;
    if (!pending) one("#progress").hidden = true;
  }
}

/* Do the work that a control asks for, once at a time. The control keeps its focus, says that it is
busy, and what goes wrong is announced. Resolves to what was thrown, if anything was. */
export async function attempt(control, work) {
  if (control.ariaDisabled) return new Error("busy");
  control.ariaDisabled = "true";
  const label = control.textContent;
  const isButton = control.matches("button");
  const timer = setTimeout(() => {
    control.ariaBusy = "true";
    if (isButton) control.textContent = say("busy");
  }, SLOW);
  announce("");
  try {
    await withProgress(work);
    return null;
  } catch (error) {
    announce(problem(error), "bad");
    return error;
  } finally {
    clearTimeout(timer);
    if (isButton) control.textContent = label;
    control.ariaDisabled = control.ariaBusy = null;
  }
}

/* Ask before the control's work is done. Resolves to whether it shall be. */
export function confirmed(control, question, consequence) {
  const dialog = one("#confirm");
  write(one("h2", dialog), question);
  write(one("p", dialog), consequence);
  const yes = one("[value=yes]", dialog);
  yes.textContent = control.textContent;
  yes.className = control.matches(".bad") ? "danger" : "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
