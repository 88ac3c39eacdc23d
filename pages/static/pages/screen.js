// @ts-check
/* What every page's script needs: elements, events and texts; the status region, the progress line, busy buttons
and confirmations. */

/** @import { ElementOf, Key, PageEvents, Values } from "./types.js" */
import { Refused } from "./client.js";

const SLOW = 250; // milliseconds before progress is shown
const SPREAD = 10; // seconds over which the pages that wait for a limit come back
const KEPT = "said"; // in sessionStorage: the announcement for the next document, all that release 3.1 writes and reads
const KEPT_AS = "said-as"; // in sessionStorage: the same text as JSON, with its kind and its key, if it has one
const COPY_ERROR = "CopyError"; // the name of the error of a browser that refuses to copy
export const LANGUAGE = document.documentElement.lang;

/* A browser that blocks cookies blocks the storages, too: they then last as long as the document. */
for (const name of ["localStorage", "sessionStorage"]) {
  try {
    Reflect.get(globalThis, name);
  } catch {
    /** @type {Map<string, string>} */
    const items = new Map();
    const getItem = (/** @type {string} */ key) => items.get(key) ?? null;
    const value = { getItem, setItem: items.set.bind(items), removeItem: items.delete.bind(items) };
    Object.defineProperty(globalThis, name, { value });
  }
}

/**
 * Keep a text that the pages can do without: a full storage refuses it.
 * @param {Storage} storage
 * @param {string} name
 * @param {string} text
 */
export function keep(storage, name, text) {
  try {
    storage.setItem(name, text);
  } catch {
    // Full.
  }
}

/* ---- Elements and events ---- */

/**
 * The first element that the selector finds, or null.
 * @template {string} Selector
 * @param {Selector} selector
 * @param {ParentNode} [root]
 */
export const find = (selector, root = document) =>
  /** @type {ElementOf<Selector> | null} */ (root.querySelector(selector));

/**
 * The same for an element that the page must have.
 * @template {string} Selector
 * @param {Selector} selector
 * @param {ParentNode} [root]
 */
export const one = (selector, root) => /** @type {ElementOf<Selector>} */ (find(selector, root));

/**
 * @template {string} Selector
 * @param {Selector} selector
 * @param {ParentNode} [root]
 */
export const all = (selector, root = document) =>
  /** @type {ElementOf<Selector>[]} */ ([...root.querySelectorAll(selector)]);

/** @param {HTMLElement[]} elements @param {(element: HTMLElement) => boolean} isHidden */
export function hide(elements, isHidden) {
  for (const element of elements) element.hidden = isHidden(element);
}

/** A copy of a <template>'s element. @param {string} id */
export function fromTemplate(id) {
  const { content } = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (document.importNode(content, true).firstElementChild);
}

/** A form's field. @param {HTMLFormElement} form @param {string} name */
export const fieldOf = (form, name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));

/**
 * Handle an event of every element that the selector finds, now or later.
 * @template {keyof PageEvents} Type
 * @template {string} Selector
 * @param {Type} type
 * @param {Selector} selector
 * @param {(element: ElementOf<Selector>, event: PageEvents[Type]) => unknown} work
 * @param {boolean} [capture] before the elements' own handlers; also for events that don't bubble
 */
export function on(type, selector, work, capture = false) {
  document.addEventListener(type, (event) => {
    const element = event.target instanceof Element && event.target.closest(selector);
    if (element) work(/** @type {ElementOf<Selector>} */ (element), /** @type {PageEvents[Type]} */ (event));
  }, capture);
}

/**
 * Dispatch one of the scripts' own events.
 * @template {keyof PageEvents} Type
 * @param {EventTarget} target
 * @param {Type} type
 * @param {PageEvents[Type] extends CustomEvent<infer Detail> ? Detail : never} [detail]
 */
export const tell = (target, type, detail) => target.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));

/* ---- Texts ---- */

const entries = one("template#words").content.querySelectorAll("data");
const words = new Map([...entries].map(({ value, textContent }) => [value, textContent ?? ""]));

/** The text for a key. @param {Key} key @param {Values} [values] */
export const say = (key, values) => translate(key, values);

/**
 * The text for a key that the API or a template gives. Without a text, such as a sentence of the server, the key is
 * the text.
 * @param {string} key
 * @param {Values} [values]
 */
export const translate = (key, values = {}) =>
  words.get(key)?.replace(/\{(\w+)\}/g, (_, name) => String(values[name])) ?? key;

/** @param {{ first_name: string, last_name: string, email: string }} user */
export const nameOf = (user) => `${user.first_name} ${user.last_name}`.trim() || user.email;

/** @param {string} time */
export const formatDay = (time) => new Date(time).toLocaleDateString(LANGUAGE, { dateStyle: "medium" });

/** @param {string} time */
export const formatMinute = (time) =>
  new Date(time).toLocaleString(LANGUAGE, { dateStyle: "medium", timeStyle: "short" });

/**
 * Write a text whose e-mail addresses stay on one line, or else break after `@` and dots.
 * @param {Element} element
 * @param {string} text
 */
export function write(element, text) {
  const parts = text.split(/(\S+@\S+|(?<!\S)(?:[a-z0-9-]+\.)*xn--[a-z0-9.-]*[a-z0-9])/);
  element.replaceChildren(...parts.map((part, n) => (n % 2 ? email(part) : part)));
}

/**
 * Write the values into the elements with `data-text`.
 * @param {ParentNode} root
 * @param {Values} values
 */
export function fillText(root, values) {
  for (const element of all("[data-text]", root)) write(element, String(values[element.dataset.text ?? ""] ?? ""));
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Partial<HTMLElementTagNameMap[Name]>} properties
 */
export const make = (name, properties) => Object.assign(document.createElement(name), properties);

/** @param {string} href @param {string} textContent */
export const anchor = (href, textContent) => make("a", { href, textContent });

/** An address, or the name of a domain. @param {string} text */
function email(text) {
  const span = make("span", { className: "email" });
  /** @param {string} shown */
  const draw = (shown) => {
    span.replaceChildren(...shown.split(/(?<=[@.])(?=.)/).flatMap((part) => [part, make("wbr", {})]));
    span.lastChild?.remove();
  };
  draw(text);
  drawReadable(text, draw);
  return span;
}

/** Draw a text once more if it has a domain in ASCII form. @param {string} text @param {(shown: string) => void} draw */
export async function drawReadable(text, draw) {
  if (text.includes("xn--")) draw((await import("./idn.js")).readable(text));
}

/** Show a part of the page in place of another, and focus its heading. @param {HTMLElement} former @param {HTMLElement} part */
export function replacePart(former, part) {
  former.hidden = true;
  part.hidden = false;
  place();
  one("h1", part).focus();
}

/* ---- The status region ---- */

/**
 * Put the status region where it is seen: first in an open dialog; where a page is one card, below its heading, above
 * the fields; else over the top of the page, where it moves nothing. It is put there before it says anything: a region
 * that comes with its text is not read aloud.
 */
export function place() {
  const status = one("#status");
  const dialog = find("main dialog[open]");
  if (dialog) {
    if (dialog.firstChild !== status) dialog.prepend(status);
    return;
  }
  const heading = all("main > .card:only-of-type:not(.wide) h1").find((element) => element.checkVisibility());
  if (!heading) return one("#said").append(status);
  const above = (heading.parentElement && find(":scope > .lead, :scope > .small", heading.parentElement)) ?? heading;
  if (above.nextElementSibling !== status) above.after(status);
}

/**
 * Replace the text of the status region; "" clears it.
 * @param {string} text
 * @param {"good" | "bad" | "wait"} [kind]
 */
export function announce(text, kind = "good") {
  place();
  const status = one("#status");
  status.setAttribute("aria-live", kind === "bad" ? "assertive" : "polite");
  status.dataset.kind = kind;
  write(status, text);
}

/** @param {unknown} error */
export const announceProblem = (error) => announce(problem(error), "bad");

/**
 * Announce one of the texts after the next document has loaded, in its language.
 * @param {string} text
 * @param {"good" | "wait"} [kind]
 */
export function announceNext(text, kind = "good") {
  const key = [...words.keys()].find((key) => words.get(key) === text);
  keep(sessionStorage, KEPT, text);
  keep(sessionStorage, KEPT_AS, JSON.stringify({ text, key, kind }));
}

export function announceKept() {
  const text = sessionStorage.getItem(KEPT);
  const kept = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "{}");
  for (const name of [KEPT, KEPT_AS]) sessionStorage.removeItem(name);
  if (!text) return;
  if (kept.text === text) announce(translate(kept.key ?? text), kept.kind);
  else announce(text);
}

/**
 * An error in words: by its own text for errors of the API and of passkeys, otherwise by its meaning here.
 * @param {unknown} error
 */
export function problem(error) {
  if (!(error instanceof Refused)) {
    const name = error instanceof Error ? error.name : "";
    if (name === "AbortError") return ""; // the user's own choice
    if (name === COPY_ERROR) return say("not copied");
    return say(name === "NotAllowedError" || name === "InvalidStateError" ? name : "unreachable");
  }
  if (error.status === 429) {
    // A lockout does not prevent requesting a link, and a link can be used later.
    const limit = find("main form[data-sent]") ? "rate_limited" : "too many attempts";
    return say(find("main form[data-link]") ? "too many attempts: link" : limit, { seconds: error.wait });
  }
  if (error.status >= 500) return say(error.status === 503 ? "service unavailable" : "internal error");
  if (error.status === 413) return say("invalid request");
  // A proxy's answer, which has no words of the API.
  if (!error.message || error.message === "unreadable answer") return say("internal error");
  return translate(error.body?.cause ?? error.message);
}

/* ---- Work that takes time ---- */

/**
 * Do the work, and again after each answer that asks to wait: few times, since a lockout takes longer, and not for a
 * page that was left meanwhile. A team that waits for the same limit doesn't come back at once.
 * @template Answer
 * @param {() => Promise<Answer>} work
 * @param {number} [times]
 * @returns {Promise<Answer>}
 */
export async function patiently(work, times = 4) {
  const main = one("main");
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused && error.wait) || !times) throw error;
    const seconds = error.wait + Math.floor(Math.random() * SPREAD);
    announce(say("goes on in", { seconds }), "wait");
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    if (one("main") !== main) throw error;
    announce("");
    return patiently(work, times - 1);
  }
}

let pending = 0; // works that may show the progress line

/**
 * Show the progress line while the work takes longer than SLOW, and then also draw what else is busy.
 * @template Answer
 * @param {() => Answer} work
 * @param {() => void} [drawBusy]
 * @returns {Promise<Awaited<Answer>>}
 */
export async function withProgress(work, drawBusy) {
  pending += 1;
  const timer = setTimeout(() => {
    one("#progress").hidden = false;
    drawBusy?.();
  }, SLOW);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    pending -= 1;
    if (!pending) one("#progress").hidden = true;
  }
}

/**
 * Do the work of a control, once at a time. The control keeps the focus and is marked as busy; errors are announced,
 * and otherwise the text. Resolves to the error, if any.
 * @param {HTMLElement} control
 * @param {() => unknown} work
 * @param {string} [text]
 * @returns {Promise<Error | null>}
 */
export async function attempt(control, work, text) {
  if (control.ariaDisabled) return new Error("busy");
  control.ariaDisabled = "true";
  const main = one("main");
  const label = control.textContent;
  const isButton = control.matches("button");
  announce("");
  try {
    await withProgress(work, () => {
      control.ariaBusy = "true";
      if (isButton) control.textContent = say("busy");
    });
    if (text) announce(text);
    return null;
  } catch (error) {
    if (one("main") === main) announceProblem(error); // else another page is shown
    return /** @type {Error} */ (error);
  } finally {
    if (isButton) control.textContent = label;
    control.ariaDisabled = control.ariaBusy = null;
  }
}

/**
 * Ask for confirmation of the control's work. Resolves to the answer.
 * @param {HTMLElement} control
 * @param {string} question
 * @param {string} consequence
 * @returns {Promise<boolean>}
 */
export function confirmed(control, question, consequence) {
  const dialog = one("dialog#confirm");
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

// Plain HTTP on another host than this machine.
document.body.toggleAttribute("data-no-clipboard", !navigator.clipboard);

/** @param {HTMLElement} button @param {string} text */
export const copy = (button, text) => attempt(button, async () => {
  await navigator.clipboard.writeText(text).catch(() => {
    throw new DOMException("", COPY_ERROR);
  });
}, say("copied"));

/** @param {string} name @param {string} type @param {string} text */
export function download(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
