// @ts-check
/* The pages are plain documents. Links replace <main>, so that the access token stays in memory. This
module decides who may see which page, and calls `whenShown` setups for each new one. */

/** @import { Account, Proof, User } from "./client.js" */
/** @import { ElementOf } from "./types.js" */
import { Client, Refused } from "./client.js";
import {
  all, anchor, announce, announceNext, announceProblem, find, hide, keep, make, on, one, place, say, tell,
  withProgress,
} from "./screen.js";

const COMPANY = "company"; // in sessionStorage: the id and the name of the signed-in user's company

export const client = new Client();
export const PROOF_CHANNEL = "proof"; // on which the tab at the provider sends a proof to the page

const WANTED = "wanted"; // in sessionStorage: the page, with its tab, that required the sign-in
const CONTINUED = "continued"; // in sessionStorage: whether this document takes over the visit of the one before
const isContinued = sessionStorage.getItem(CONTINUED) !== null;
sessionStorage.removeItem(CONTINUED);
if (location.pathname !== "/sso" && !isContinued) sessionStorage.removeItem(WANTED); // it was another document's
const HEARD = 50; // milliseconds after which a screen reader listens to a region that has come

/** @typedef {(main: HTMLElement) => unknown} Setup called with the page's <main> when it is ready */
/** @type {Setup[]} */
const setups = [];
/** @param {Setup} setup */
export const whenShown = (setup) => setups.push(setup);
/**
 * Prepare the first element that the selector finds, on pages that have one.
 * @template {string} Selector
 * @param {Selector} selector
 * @param {(element: ElementOf<Selector>, main: HTMLElement) => unknown} setup
 */
export function whenOnPage(selector, setup) {
  whenShown((main) => {
    const element = find(selector, main);
    return element && setup(element, main);
  });
}

let turn = 0; // counts shown pages, to ignore answers that come too late
let shown = location.pathname;
let leaving = false; // whether the user ends the session in this tab

/** @param {string} path */
const local = (path) => path.replace(/^\/+/, "/"); // "//evil" would be another host

/**
 * Go to a built-in page; with `push` as a new entry of the browser's history, with `replace` in place of the current
 * one: a redirect, which must not be in the way of the Back button.
 * @param {string} path
 * @param {{ push?: boolean, replace?: boolean, text?: string, kind?: "good" | "wait" }} [options]
 * @returns {Promise<void>}
 */
export async function visit(path, { push = true, replace = false, text = "", kind = "good" } = {}) {
  if (path.startsWith("/oauth/")) return location.replace(path); // the consent page, which waits for the sign-in
  const mine = ++turn;
  for (const dialog of all("dialog#confirm, dialog#proof")) dialog.close(); // questions of the page that is left
  announce("");
  one("#arrived").textContent = "";
  const page = await withProgress(() => load(path)).catch(() => null);
  if (mine !== turn) return;
  if (!page) return announce(say("unreachable"), "bad");
  if (releaseOf(page) !== releaseOf(document) && path !== "/second-factor") {
    return visitAnew(path, { replace, push, text, kind });
  }
  if (push) history[replace ? "replaceState" : "pushState"](null, "", local(path));
  shown = location.pathname;
  document.title = page.title;
  one("#said").append(one("#status"));
  one("main").replaceWith(one("main", page));
  place();
  scrollTo(0, 0);
  if (text) await new Promise((done) => setTimeout(done, HEARD));
  if (mine !== turn) return;
  announce(text, kind);
  await show({ focus: true });
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/* Modules of two releases don't fit together. What the page has in memory is lost, but for the session, which the cookie
restores; the set-up of a second factor at a sign-in stays. */

/**
 * The path of the page's script, which differs between releases. Other pages of this origin have none, such as a proxy's
 * during maintenance.
 * @param {Document} page
 */
const releaseOf = (page) => find("script[type=module]", page)?.getAttribute("src");

/**
 * Visit a page as a document of its own, which may be the log-in page: it keeps the page that required the sign-in.
 * @param {string} path
 * @param {{ replace: boolean, push: boolean, text: string, kind: "good" | "wait" }} options
 */
function visitAnew(path, { replace, push, text, kind }) {
  keep(sessionStorage, CONTINUED, "");
  if (text) announceNext(text, kind);
  if (replace || !push) location.replace(local(path));
  else location.assign(local(path));
}

/** @param {string} path */
async function load(path) {
  const response = await fetch(local(path));
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return find("main", page) && page; // else it is no page, such as a proxy's 503
}

/** Prepare the current page for the current user. @returns {Promise<void>} */
export async function show({ focus = false } = {}) {
  const mine = ++turn;
  const main = one("main");
  const members = find("[data-members]", main);
  company = null;
  drawSession();
  try {
    const scripts = (main.dataset.scripts ?? "").split(" ").filter(Boolean);
    await Promise.all(scripts.map((name) => import(`./${name}.js`)));
    if (mine !== turn) return;
    if (!members) await prepare(main, focus);
    if (client.lastRole && !client.user) await client.refresh();
    if (mine !== turn) return;
    if (find("[data-guests]", main) && client.user) return await visit(afterLogIn(), { replace: true });
    if (members) await showMembers(main, members, focus);
  } catch (error) {
    if (mine !== turn) return;
    const ended = error instanceof Refused && error.status === 401;
    if (members && ended) await toLogIn(say("ended"));
    else if (!ended) {
      announceProblem(error);
      offer(say("try again"), () => visit(location.pathname, { push: false }));
    }
  }
}

/** @param {HTMLElement} main @param {HTMLElement} members @param {boolean} focus */
async function showMembers(main, members, focus) {
  if (!client.user) return toLogIn(find("form[data-link]", main) ? say("sign in for the link") : "");
  const allowed = ["", client.user.role].includes(members.dataset.members ?? "");
  hide(all("[data-members]", main), () => !allowed);
  hide(all("[data-otherwise]", main), () => allowed);
  main.ariaBusy = String(allowed);
  if (allowed) await prepare(main, focus);
  main.ariaBusy = "false";
  members.toggleAttribute("data-shown", allowed);
}

/** @param {HTMLElement} main @param {boolean} focus */
async function prepare(main, focus) {
  const form = find("[data-focus]", main);
  if (focus && !form) focusHeading(main);
  place();
  for (const setup of setups) await setup(main);
  tell(document, "prepared");
  for (const fields of all("form > fieldset", main)) fields.disabled = false;
  if (form) focusField(form, main, focus);
}

/** @param {HTMLElement} main */
const focusHeading = (main) => all("h1", main).find((heading) => heading.checkVisibility())?.focus();

/**
 * Focus the first empty field, or else the first one. After following a link the page is announced, since its heading
 * does not have the focus.
 * @param {HTMLElement} form
 * @param {HTMLElement} main
 * @param {boolean} arrived
 */
function focusField(form, main, arrived) {
  const fields = all("input:enabled:read-write", form).filter((field) => field.checkVisibility());
  const field = fields.find(({ value }) => !value) ?? fields[0];
  if (field) field.focus({ preventScroll: true });
  else if (arrived) one("h1", main).focus();
  if (arrived && field) one("#arrived").textContent = one("h1", main).textContent;
}

/**
 * A button next to the announcement.
 * @param {string} textContent
 * @param {(button: HTMLButtonElement) => unknown} work
 */
export function offer(textContent, work) {
  const button = make("button", { type: "button", className: "plain", textContent });
  button.addEventListener("click", () => work(button));
  one("#status").append(" ", button);
}

function toLogIn(text = "") {
  keep(sessionStorage, WANTED, location.pathname + location.search + location.hash);
  return visit("/login", { replace: true, text, kind: "wait" });
}

/**
 * Do the work; if all that its call lacks is re-authentication, ask for that in a dialog and do it with the proof.
 * @template Answer
 * @param {(proof: Proof | null) => Promise<Answer>} work
 * @returns {Promise<Answer>}
 */
export async function proven(work) {
  try {
    return await work(null);
  } catch (error) {
    const fields = error instanceof Refused ? Object.keys(error.body.fields ?? {}) : [];
    if (String(fields) !== "password") throw error;
    return (await import("./proof.js")).prove(work);
  }
}

/**
 * A call as the signed-in user, also one that needs re-authentication. Another 403 means that the role has changed.
 * @template [Answer=unknown]
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<Answer>}
 */
export async function call(method, path, body) {
  try {
    return await proven((proof) => client.call(method, path, proof ? { ...body, ...proof } : body));
  } catch (error) {
    if (error instanceof Refused && error.status === 403) client.update(await client.call("GET", "/auth/me"));
    throw error;
  }
}

export async function signOut(everywhere = false) {
  leaving = true;
  await client.signOut({ everywhere }).finally(() => (leaving = false));
  sessionStorage.removeItem(WANTED); // not for the next user
}

/** The page that required the sign-in, or else the account. */
export function afterLogIn() {
  const path = sessionStorage.getItem(WANTED) ?? "/profile";
  sessionStorage.removeItem(WANTED);
  return path;
}

/* The navigation for the current user, or the last one that this browser knows of. */
function drawSession() {
  const role = client.user?.role ?? client.lastRole;
  document.body.dataset.session = role ? `in ${role}` : "out";
  for (const link of all("header nav a")) {
    link.ariaCurrent = link.pathname === location.pathname ? "page" : null;
  }
  drawCompany().catch(() => {}); // decoration only: the page shows errors
}

/* The company's name next to the product's, loaded once per tab. */
async function drawCompany() {
  const place = one("[data-company]");
  const { id, name } = JSON.parse(sessionStorage.getItem(COMPANY) ?? "{}");
  const companyId = client.user?.account_id ?? (client.lastRole && id);
  place.textContent = companyId === id ? name : "";
  if (client.user && !place.textContent) keepCompany(await loadCompany());
}

/** @type {Promise<Account> | null} */
let company = null; // of the signed-in user, as the page that is shown has asked for it

/** @returns {Promise<Account>} */
export const loadCompany = () => (company ??= client.call("GET", "/account").catch((error) => {
  company = null; // the next one to ask tries again
  throw error;
}));

/** Show the company's name on every page. @param {Account} account */
export function keepCompany(account) {
  const { id, name } = account;
  company = Promise.resolve(account);
  keep(sessionStorage, COMPANY, JSON.stringify({ id, name }));
  for (const place of all("[data-company]")) place.textContent = name;
}

/** @type {string | null} */
let userId = null; // of the signed-in user

client.addEventListener("change", () => {
  const before = userId;
  userId = client.user?.id ?? null;
  drawSession();
  const members = find("main [data-shown], main[aria-busy=true] [data-members]"); // or is being made
  if (!client.user && members) {
    if (leaving) visit("/login", { replace: true, text: say("signed out") });
    else toLogIn(say("ended"));
  } else if (!client.user && leaving) {
    announce(say("signed out"));
    focusHeading(one("main"));
  } else if (client.user && find("main [data-guests]")) visit(afterLogIn(), { replace: true });
  // Somebody else has signed in, in another tab: nothing of the former user's may stay.
  else if (members && before && before !== userId) visit(location.pathname, { push: false });
  else if (members?.dataset.members && client.user?.role !== members.dataset.members) {
    visit("/profile", { text: say("your role has changed") });
  }
  tell(document, "session", { before });
});
client.addEventListener("wait", (event) => {
  const { detail } = /** @type {CustomEvent<{ seconds: number, times: number }>} */ (event);
  if (detail.times < 2) return announce(say("goes on in", detail), "wait");
  announce(say("goes on by itself: long"), "wait");
  one("#status").append(" ", anchor("/login", say("log in")), " ", anchor("/forgot-password", say("new password")));
});
client.addEventListener("resume", () => announce(""));

/* ---- Languages ---- */

/**
 * Django's language cookie decides the pages' language; the user's choice sets the cookie.
 * @param {string} language
 * @param {string} [path]
 * @param {string} [text]
 */
export function speak(language, path = location.pathname, text = "") {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in supported browsers
  document.cookie = `django_language=${language};path=/;max-age=31536000;samesite=lax`;
  if (text) announceNext(text);
  location.assign(local(path));
}

/**
 * Go on in the language of the user who has just signed in or changed it. A browser that blocks cookies keeps neither the
 * language nor, in another document, the session: there the page's language stays.
 * @param {User} user
 * @param {string} path
 * @param {string} [text]
 */
export function goOn(user, path, text = "") {
  const { language } = user.settings;
  if (navigator.cookieEnabled && language !== document.documentElement.lang) return speak(language, path, text);
  return path === location.pathname ? announce(text) : visit(path, { replace: true, text });
}

/* ---- Links and the browser's back button ---- */

on("click", "a", (link, event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  if (link.origin !== location.origin || link.hash || "leave" in link.dataset) return;
  event.preventDefault();
  visit(link.pathname);
});
addEventListener("popstate", () => {
  // Also fired when only the fragment changes, as by the skip link.
  if (location.pathname !== shown) visit(location.pathname, { push: false });
});
