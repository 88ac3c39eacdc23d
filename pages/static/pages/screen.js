/* Feedback on every page: the status region, the progress line, busy buttons and confirmations. */

const SLOW = 250; // milliseconds before progress is shown
const SPREAD = 10; // seconds over which the pages that wait for a limit come back
const KEPT = "said"; // in sessionStorage: the announcement for the next document

const entries = document.getElementById("words").content.querySelectorAll("data");
const words = new Map([...entries].map(({ value, textContent }) => [value, textContent]));

/* The text for a key; a key without one (a sentence of the server) is its own text. */
export const say = (key, values = {}) =>
  words.get(key)?.replace(/\{(\w+)\}/g, (_, name) => values[name]) ?? key;
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
export const one = (selector, root = document) => root.querySelector(selector);

/* A text whose e-mail addresses stay on one line, or else break after `@` and dots. The part between
<a> and </a> links to a new password. */
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

/* Replace the text of the status region. `kind` is "good", "bad" or "wait"; "" clears it. */
export function announce(text, kind = "good") {
  place();
  const status = one("#status");
  status.setAttribute("aria-live", kind === "bad" ? "assertive" : "polite");
  status.dataset.kind = kind;
  write(status, text);
}

/* Announce it after the next document has loaded. */
export const announceNext = (text) => sessionStorage.setItem(KEPT, text);

export function announceKept() {
  const text = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (text) announce(text);
}

/* An error in words: by its own text for errors of the API and of passkeys, otherwise by its meaning
here. */
export function problem(error) {
  if (!error.status) return say(words.has(error.name) ? error.name : "unreachable");
  if (error.status === 429) return say(tooMany(), { seconds: error.wait });
  if (error.status >= 500) return say(error.status === 503 ? "service unavailable" : "internal error");
  if (error.status === 413) return say("invalid request");
  // A proxy's answer, which has no words of the API.
  if (!error.message || error.message === "unreadable answer") return say("internal error");
  return say(error.body?.cause ?? error.message);
}

/* A lockout does not prevent requesting a link, and a link can be used later. */
function tooMany() {
  if (one("main form[data-sent]")) return "rate_limited";
  return one("main form[data-link]") ? "too many attempts: link" : "too many attempts";
}

/* Do the work, and again after each answer that asks to wait: few times, since a lockout takes longer, and
not for a page that was left meanwhile. A team that waits for the same limit doesn't come back at once. */
export async function patiently(work, times = 4) {
  const main = one("main");
  try {
    return await work();
  } catch (error) {
    if (!error.wait || !times) throw error;
    const seconds = error.wait + Math.floor(Math.random() * SPREAD);
    announce(say("goes on in", { seconds }), "wait");
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    if (one("main") !== main) throw error;
    announce("");
    return patiently(work, times - 1);
  }
}

/* Show the progress line while the work takes longer than SLOW. */
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

/* Do the work of a control, once at a time. The control keeps the focus and is marked as busy; errors
are announced. Resolves to the error, if any. */
export async function attempt(control, work) {
  if (control.ariaDisabled) return new Error("busy");
  control.ariaDisabled = "true";
  const main = one("main");
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
    if (one("main") === main) announce(problem(error), "bad"); // else another page is shown
    return error;
  } finally {
    clearTimeout(timer);
    if (isButton) control.textContent = label;
    control.ariaDisabled = control.ariaBusy = null;
  }
}

/* Ask for confirmation of the control's work. Resolves to the answer. */
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

export function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
