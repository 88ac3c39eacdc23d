/* The pages' behaviour. Each page is a plain document; this script fills it, sends its forms, and
exchanges <main> when a link is followed, so that the access token stays in memory. */

import { call, changes, mayBeSignedIn, refresh, send, signIn, signOut, update, user } from "./client.js";

const words = JSON.parse(document.getElementById("words").textContent);
const say = (key, values = {}) =>
  (words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name]);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);

let linkToken = null; // from the mailed link's fragment, which leaves the address bar at once
let wanted = null; // the page that asked for a log-in first
let shown = location.pathname;

function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!found) return;
  linkToken = found;
  history.replaceState(null, "", location.pathname + location.search);
}

/* ---- Pages ---- */

async function visit(url, { push = true } = {}) {
  const text = await fetch(url).then((response) => response.text(), () => null);
  if (text === null) return announce(say("unreachable"));
  const page = new DOMParser().parseFromString(text, "text/html");
  if (push) history.pushState(null, "", url);
  shown = location.pathname;
  document.title = page.title;
  one("main").replaceWith(page.querySelector("main"));
  announce("");
  await show();
  scrollTo(0, 0);
  one("main h1")?.focus();
}

async function show() {
  const members = one("[data-members]");
  showSession();
  try {
    if (mayBeSignedIn() && !user()) await refresh();
    if (members && !user()) return toLogin();
    if (one("[data-guests]") && user()) return visit("/account");
    if (members) {
      all("form[data-fill]").forEach(fill);
      fillText(document.body, user());
      await Promise.all(all("[data-list]").map((list) => load(list)));
    }
  } catch (error) {
    if (error.status === 401) wanted = members && location.pathname; // the change leads to /login
    else showProblem(error, one("main .notice"), members && retryButton());
  }
  if (one("form[data-link]") && !linkToken) notice(one("form .notice"), say("no link"));
}

function toLogin() {
  wanted = location.pathname;
  return visit("/login");
}

function showSession() {
  const role = user()?.role === "admin" ? "in admin" : "in";
  document.body.dataset.session = user() ? role : mayBeSignedIn() ? "unknown" : "out";
  all("header nav a").forEach((link) => {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
}

changes.addEventListener("change", () => {
  showSession();
  if (!user() && one("[data-members]")) {
    announce(say("signed out"));
    visit("/login").then(() => announce(say("signed out")));
  } else if (user() && one("[data-guests]")) visit(wanted ?? "/account");
});

/* ---- What is said ---- */

function announce(text) {
  one("#status").textContent = text;
}

function notice(element, text) {
  element.textContent = text;
  element.hidden = !text;
}

/* Say what went wrong; a 429 also shows its wait, counting down on the button that may try again. */
function showProblem(error, place, button) {
  const key = error.status === 429 ? "wait" : error.status ? error.message : "unreachable";
  notice(place, say(key, { seconds: error.wait }));
  if (error.status === 429 && button) countDown(button, error.wait, place);
}

function countDown(button, seconds, place) {
  const label = button.dataset.label ?? (button.dataset.label = button.textContent);
  const end = Date.now() + seconds * 1000;
  button.disabled = true;
  const timer = setInterval(tick, 250);
  function tick() {
    const left = Math.ceil((end - Date.now()) / 1000);
    button.textContent = left > 0 ? say("waiting", { seconds: left }) : label;
    if (left > 0) return;
    clearInterval(timer);
    button.disabled = false;
    notice(place, "");
  }
  tick();
}

function retryButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = say("try again");
  button.addEventListener("click", () => visit(location.pathname, { push: false }));
  one("main .notice").after(button);
  return button;
}

/* ---- Forms ---- */

/* The form's fields as the call's body; `settings.language` names a member of a member. */
function body(form) {
  const values = form.hasAttribute("data-link") ? { token: linkToken ?? "" } : {};
  for (const [name, value] of new FormData(form)) {
    const [outer, inner] = name.split(".");
    if (inner) values[outer] = { ...values[outer], [inner]: value };
    else values[outer] = value;
  }
  return values;
}

function fill(form) {
  for (const field of form.elements) {
    if (field.name) field.value = field.name.split(".").reduce((at, name) => at[name], user());
  }
}

function fillText(root, values) {
  for (const element of all("[data-text]", root)) {
    const value = values[element.dataset.text];
    element.textContent = element.dataset.text === "role" ? say(value) : value;
  }
}

function markFields(form, fields) {
  for (const field of form.elements) {
    const wrong = fields[field.name];
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    const error = document.getElementById(`${field.id}-error`);
    if (error) error.textContent = wrong ? wrong.map((text) => say(text)).join(" ") : "";
  }
  form.querySelector("[aria-invalid]")?.focus();
}

async function submit(form) {
  const [method, path] = form.dataset.call.split(" ");
  const place = form.querySelector(".notice");
  const button = form.querySelector("button");
  if (button.disabled) return;
  notice(place, "");
  markFields(form, {});
  button.disabled = true;
  try {
    const ask = form.closest("[data-members]") ? call : send;
    const answer = await ask(method, path, body(form));
    button.disabled = false;
    await succeed(form, answer);
  } catch (error) {
    button.disabled = false;
    showProblem(error, place, button);
    markFields(form, error.body?.fields ?? {});
  }
}

async function succeed(form, answer) {
  if (form.hasAttribute("data-fill")) return saveProfile(form, answer);
  if (form.dataset.then) {
    linkToken = null;
    const page = wanted ?? form.dataset.then;
    wanted = null;
    if (one("[data-guests]")) wanted = page; // the session's change leads there, as in other tabs
    signIn(answer);
    if (speaksOther(answer.user)) speak(answer.user.settings.language, page);
    else if (!one("[data-guests]")) await visit(page);
  } else if (form.dataset.say) {
    form.reset();
    announce(say(form.dataset.say));
    if (form.hasAttribute("data-reload")) await reloadLists();
  } else {
    form.hidden = true;
    const done = one("main .done");
    done.hidden = false;
    done.querySelector("h2").focus();
  }
}

function saveProfile(form, person) {
  update(person);
  if (speaksOther(person)) speak(person.settings.language);
  else announce(say(form.dataset.say));
}

const speaksOther = (person) => person.settings.language !== document.documentElement.lang;

/* Django's language cookie decides the pages' language; a person's own choice decides the cookie. */
function speak(language, page = location.pathname) {
  document.cookie = `django_language=${language};path=/;max-age=31536000;samesite=lax`;
  location.assign(page);
}

async function choose(language) {
  if (user()) update(await call("PATCH", "/auth/me", { settings: { language } }));
  speak(language);
}

/* ---- Lists ---- */

async function load(list, page = 1) {
  const path = list.dataset.list;
  const answer = await call("GET", `${path}${path.includes("?") ? "&" : "?"}page=${page}`);
  if (page === 1) list.replaceChildren();
  list.append(...answer.items.map((item) => row(list.dataset.row, item)));
  const more = all("[data-more]").find((button) => button.dataset.more === path);
  more.hidden = page * answer.per_page >= answer.total;
  more.onclick = () => attempt(more, () => load(list, page + 1));
  const empty = list.nextElementSibling;
  if (empty?.matches(".empty")) empty.hidden = answer.total > 0;
}

const reloadLists = () => Promise.all(all("[data-list]").map((list) => load(list)));

function row(template, item) {
  const made = document.getElementById(template).content.cloneNode(true);
  fillText(made, { ...item, name: `${item.first_name} ${item.last_name}` });
  for (const button of all("[data-do]", made)) {
    button.dataset.do = button.dataset.do.replace("{id}", item.id);
    button.setAttribute("aria-label", `${button.textContent}: ${item.email}`);
  }
  for (const select of all("[data-role]", made)) {
    select.dataset.role = select.dataset.role.replace("{id}", item.id);
    select.value = item.role;
    select.setAttribute("aria-label", `${select.parentNode.firstChild.textContent}: ${item.email}`);
  }
  return made;
}

/* Do something that a button or a choice asks for; what goes wrong is said at the page's top. */
async function attempt(control, work) {
  const place = one("main .notice");
  notice(place, "");
  control.disabled = true;
  try {
    await work();
    control.disabled = false;
  } catch (error) {
    control.disabled = false;
    showProblem(error, place, control.matches("button") && control);
    return false;
  }
  return true;
}

/* ---- Events, for all pages at once ---- */

document.addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target);
});

document.addEventListener("change", async ({ target }) => {
  if (!target.matches("[data-role]")) return;
  const changed = await attempt(target, () => call("PATCH", target.dataset.role, { role: target.value }));
  if (changed) announce(say("role changed"));
  else await reloadLists();
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    if (link.origin !== location.origin || link.hash || "leave" in link.dataset) return;
    event.preventDefault();
    visit(link.pathname);
    return;
  }
  const button = event.target.closest("button");
  if (button?.dataset.language) attempt(button, () => choose(button.dataset.language));
  if (button?.dataset.signOut) attempt(button, () => signOut(button.dataset.signOut));
  if (button?.dataset.do) {
    const done = await attempt(button, () => call(...button.dataset.do.split(" ")));
    if (!done) return;
    announce(say(button.dataset.say));
    await reloadLists();
    one("main h1").focus();
  }
});

addEventListener("popstate", () => {
  // Also fired when only the fragment changes, as by the skip link.
  if (location.pathname !== shown) visit(location.pathname, { push: false });
});
addEventListener("hashchange", () => {
  takeToken();
  show();
});

takeToken();
show();
