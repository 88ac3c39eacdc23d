/* The pages are plain documents. Links replace <main>, so that the access token stays in memory. This
module decides who may see which page, and calls `whenShown` setups for each new one. */

import { Client } from "./client.js";
import { all, anchor, announce, announceNext, one, place, problem, say, withProgress } from "./screen.js";

const COMPANY = "company"; // in sessionStorage: the signed-in person's company,
const COMPANY_ID = "company-id"; // and the id that belongs to it

export const client = new Client();

const WANTED = "wanted"; // in sessionStorage: `wanted`, while the browser is at a company's provider
const HEARD = 50; // milliseconds after which a screen reader listens to a region that has come
const setups = []; // called with the page's <main> when it is ready
export const whenShown = (setup) => setups.push(setup);

let turn = 0; // counts shown pages, to ignore answers that come too late
let shown = location.pathname;
let leaving = false; // whether the user ends the session in this tab
let wanted = null; // the page, with its tab, that required the sign-in

const local = (path) => path.replace(/^\/+/, "/"); // "//evil" would be another host
const here = () => location.pathname + location.search + location.hash;

/* Go to a built-in page; with `push` as a new entry of the browser's history, with `replace` in place of
the current one: a redirect, which must not be in the way of the Back button. */
export async function visit(path, { push = true, replace = false, text = "", kind = "good" } = {}) {
  const mine = ++turn;
  one("#confirm").close(); // a question of the page that is left
  announce("");
  one("#arrived").textContent = "";
  const page = await withProgress(() => load(path)).catch(() => null);
  if (mine !== turn) return;
  if (page === null) return announce(say("unreachable"), "bad");
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

async function load(path) {
  const response = await fetch(local(path));
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!one("main", page)) throw new Error("not a page"); // such as a proxy's 503
  return page;
}

/* Prepare the current page for the current user. */
export async function show({ focus = false } = {}) {
  const mine = ++turn;
  const main = one("main");
  const members = one("[data-members]", main);
  drawSession();
  try {
    await Promise.all(main.dataset.scripts.split(" ").filter(Boolean).map((name) => import(`./${name}.js`)));
    if (mine !== turn) return;
    if (!members) await prepare(main, focus);
    if (client.lastRole && !client.user) await client.refresh();
    if (mine !== turn) return;
    if (one("[data-guests]", main) && client.user) return await visit(afterLogIn(), { replace: true });
    if (members) await showMembers(main, members, focus);
  } catch (error) {
    if (mine !== turn) return;
    if (members && error.status === 401) await toLogIn(say("ended"));
    else if (error.status !== 401) offerAgain(error);
  }
}

async function showMembers(main, members, focus) {
  if (!client.user) return toLogIn();
  const allowed = !members.dataset.members || client.user.role === members.dataset.members;
  all("[data-members]", main).forEach((part) => (part.hidden = !allowed));
  all("[data-otherwise]", main).forEach((part) => (part.hidden = allowed));
  main.ariaBusy = String(allowed);
  if (allowed) await prepare(main, focus);
  main.ariaBusy = "false";
  members.toggleAttribute("data-shown", allowed);
}

async function prepare(main, focus) {
  const form = one("[data-focus]", main);
  if (focus && !form) focusHeading(main);
  place();
  for (const setup of setups) await setup(main);
  document.dispatchEvent(new Event("prepared"));
  all("form > fieldset", main).forEach((fields) => (fields.disabled = false));
  if (form) focusField(form, main, focus);
}

const focusHeading = (main) => all("h1", main).find((heading) => heading.checkVisibility())?.focus();

/* Focus the first empty field, or else the first one. After following a link the page is announced,
since its heading does not have the focus. */
function focusField(form, main, arrived) {
  const fields = all("input:enabled:read-write", form).filter((field) => field.checkVisibility());
  const field = fields.find(({ value }) => !value) ?? fields[0];
  if (field) field.focus({ preventScroll: true });
  else if (arrived) one("h1", main).focus();
  if (arrived && field) one("#arrived").textContent = one("h1", main).textContent;
}

/* Announce an error with a button to try again, since the page cannot be used. */
function offerAgain(error) {
  announce(problem(error), "bad");
  offer(say("try again"), () => visit(location.pathname, { push: false }));
}

/* A button next to the announcement. */
export function offer(label, work) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "plain", textContent: label });
  button.addEventListener("click", () => work(button));
  one("#status").append(" ", button);
}

function toLogIn(text = "") {
  wanted = here();
  return visit("/login", { replace: true, text, kind: "wait" });
}

/* A call as the signed-in user. A 403 means that the role has changed. */
export async function call(method, path, body) {
  try {
    return await client.call(method, path, body);
  } catch (error) {
    if (error.status === 403) client.update(await client.call("GET", "/auth/me"));
    throw error;
  }
}

export async function signOut(everywhere = false) {
  leaving = true;
  await client.signOut({ everywhere }).finally(() => (leaving = false));
  wanted = null; // not for the next user
  sessionStorage.removeItem(WANTED);
}

/* The page that required the sign-in, or else the account. */
export function afterLogIn() {
  const path = wanted ?? sessionStorage.getItem(WANTED) ?? "/profile";
  wanted = null;
  sessionStorage.removeItem(WANTED);
  return path;
}

/* Leave for a company's provider, which sends the browser back to /sso. */
export function leaveFor(url) {
  if (wanted) sessionStorage.setItem(WANTED, wanted);
  location.assign(url);
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
  const company = client.user?.account_id ?? (client.lastRole && sessionStorage.getItem(COMPANY_ID));
  if (company !== sessionStorage.getItem(COMPANY_ID)) sessionStorage.removeItem(COMPANY);
  place.textContent = sessionStorage.getItem(COMPANY) ?? "";
  if (!client.user || place.textContent) return;
  const { name } = await client.call("GET", "/account");
  sessionStorage.setItem(COMPANY, name);
  sessionStorage.setItem(COMPANY_ID, client.user.account_id);
  place.textContent = name;
}

let person = null; // the id of the signed-in user

client.addEventListener("change", () => {
  const before = person;
  person = client.user?.id ?? null;
  drawSession();
  const members = one("main [data-shown], main[aria-busy=true] [data-members]"); // or is being made
  if (!client.user && members) {
    wanted = here();
    const said = leaving ? { text: say("signed out") } : { text: say("ended"), kind: "wait" };
    visit("/login", { replace: true, ...said });
  } else if (!client.user && leaving) {
    announce(say("signed out"));
    focusHeading(one("main"));
  } else if (client.user && one("main [data-guests]")) visit(afterLogIn(), { replace: true });
  // Somebody else has signed in, in another tab: nothing of the former user's may stay.
  else if (members && before && before !== person) visit(location.pathname, { push: false });
  else if (members?.dataset.members && client.user?.role !== members.dataset.members) {
    visit("/profile", { text: say("your role has changed") });
  }
});
client.addEventListener("wait", ({ detail }) => {
  if (detail.times < 2) return announce(say("goes on in", detail), "wait");
  announce(say("goes on by itself: long"), "wait");
  for (const [path, key] of Object.entries({ "/login": "log in", "/forgot-password": "new password" })) {
    one("#status").append(" ", anchor(path, say(key)));
  }
});
client.addEventListener("resume", () => announce(""));

/* ---- Languages ---- */

/* Django's language cookie decides the pages' language; the user's choice sets the cookie. */
export function speak(language, path = location.pathname, text = "") {
  document.cookie = `django_language=${language};path=/;max-age=31536000;samesite=lax`;
  if (text) announceNext(text);
  location.assign(local(path));
}

/* Go on in the language of the user who has just signed in or changed it. */
export function goOn(person, path, text) {
  const { language } = person.settings;
  if (language !== document.documentElement.lang) return speak(language, path, text);
  return path === location.pathname ? announce(text) : visit(path, { replace: true, text });
}

/* ---- Links and the browser's back button ---- */

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  if (link.origin !== location.origin || link.hash || "leave" in link.dataset) return;
  event.preventDefault();
  visit(link.pathname);
});
addEventListener("popstate", () => {
  // Also fired when only the fragment changes, as by the skip link.
  if (location.pathname !== shown) visit(location.pathname, { push: false });
});
