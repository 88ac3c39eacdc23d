/* The pages' forms: `data-call` names a form's call. Fields are validated when they lose the focus, and
by the API. */

import { afterLogIn, call, client, goOn, visit, whenShown } from "./navigation.js";
import { all, announce, attempt, one, patiently, place, problem, say, withProgress, write } from "./screen.js";

const PAUSE = 30; // seconds between two mails
const TYPED = "typed-address"; // in sessionStorage: the e-mail address last typed in this tab

/* Fill this address into the pages that ask for one. */
export const remember = (email) => sessionStorage.setItem(TYPED, email);

/* ---- E-mailed links: the token moves from the address bar to sessionStorage until it is used ---- */

const key = (path) => `link:${path}`;
const linkToken = () => sessionStorage.getItem(key(location.pathname));

export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  sessionStorage.setItem(key(location.pathname), token);
  history.replaceState(null, "", location.pathname + location.search);
}

function refuseLink(form, text) {
  sessionStorage.removeItem(key(location.pathname));
  form.hidden = true;
  const dead = one("main .dead");
  one("p", dead).textContent = text;
  dead.hidden = false;
  one("h1", dead).focus();
}

/* Look up what the link is for, without using it up. If that fails, submitting shows the error. A limit
is waited for. */
async function openLink(form) {
  if (!linkToken()) return refuseLink(form, say("no link"));
  try {
    const body = { token: linkToken(), page: location.pathname.slice(1) };
    const link = await patiently(() => client.send("POST", "/pages/link", body));
    form.link = link;
    for (const part of all("[data-link-text]", form.closest("main"))) {
      write(part, say(part.dataset.linkText, link));
    }
    showAddress(form, link.email);
  } catch (error) {
    if (error.status === 400) refuseLink(form, problem(error));
  }
}

/* Show whose password is set, to users and password managers. */
function showAddress(form, email) {
  const field = form.elements.username;
  if (!field) return; // the link is not for a password
  field.value = email;
  if (field.type === "hidden") return;
  field.closest(".field").hidden = false;
  all("[data-somebody-else]", form).forEach(warn);
}

/* Warn before submitting if another user is signed in than the one the link is for. */
function warn(place) {
  const here = client.user?.email;
  const asked = place.closest("form").elements.username.value;
  const differs = here && here.toLowerCase() !== asked.toLowerCase();
  write(place, differs ? say("signed in as somebody else", { email: here }) : "");
}

/* ---- A form that becomes usable ---- */

whenShown(async (main) => {
  for (const form of all("form[data-call]", main)) {
    if ("fill" in form.dataset) fill(form, client.user);
    if ("link" in form.dataset) await withProgress(() => openLink(form));
    else prefillAddress(form);
  }
  showOwn();
});

function showOwn() {
  if (client.user) {
    const language = one(`footer [data-language=${client.user.settings.language}]`)?.textContent;
    all("[data-own]").forEach((part) => fillText(part, { ...client.user, language }));
  }
}

let person = null; // the id of the signed-in user

client.addEventListener("change", () => {
  if (!client.user && person) keepDrafts(person);
  person = client.user?.id ?? null;
  showOwn();
  all("form[data-call]").forEach(prefillAddress);
  all("[data-somebody-else]").forEach(warn);
});

const at = (values, name) => name.split(".").reduce((found, part) => found[part], values);

function fill(form, values) {
  for (const field of form.elements) if (field.name) field.value = at(values, field.name);
}

export function fillText(root, values) {
  for (const element of all("[data-text]", root)) {
    write(element, String(values[element.dataset.text] ?? ""));
  }
  for (const element of all("[data-word]", root)) {
    element.textContent = say(values[element.dataset.word] ?? "");
  }
}

/* The address that was typed on another page, or that of the signed-in user. */
function prefillAddress(form) {
  const field = one("input[name=email][data-known]", form);
  if (field && !field.value) field.value = client.user?.email ?? sessionStorage.getItem(TYPED) ?? "";
}

/* ---- Fields ---- */

function mark(field, text) {
  const error = document.getElementById(`${field.id}-error`);
  if (!error) return;
  field.ariaInvalid = text ? "true" : null;
  error.textContent = text;
}

/* The browser's validation error of a field, in our words. */
function wrong(field) {
  const { validity, minLength, value } = field;
  if (validity.valueMissing) return say("This field is required.");
  if (validity.typeMismatch) return say("Enter a valid email address.");
  if (minLength > 0 && value.length < minLength) return say("too short", { count: minLength });
  return "";
}

/* Validate all fields of a form. If any is invalid, focus the first one and return false. */
function check(form, find) {
  for (const field of form.elements) mark(field, find(field) || "");
  const first = one("[aria-invalid]", form);
  first?.focus();
  return !first;
}

document.addEventListener("focusout", ({ target, relatedTarget }) => {
  if (!target.matches("form[data-call] input") || !target.value || target.readOnly) return;
  // Not when the focus moves to "Show", and not to the form's button, which validates all fields.
  if (relatedTarget?.matches("button") || target.closest(".field")?.contains(relatedTarget)) return;
  mark(target, wrong(target));
});

document.addEventListener("input", ({ target }) => {
  if (!target.matches("form[data-call] input")) return;
  if (target.ariaInvalid && !wrong(target)) mark(target, "");
  if (target.matches("[data-known]")) remember(target.value);
  if (target.minLength > 0) countDown(target);
});

/* The live hint of a new password: how many characters are still missing. */
function countDown(field) {
  const hint = document.getElementById(`${field.id}-hint`);
  const left = field.minLength - field.value.length;
  hint.dataset.met = String(left <= 0);
  hint.textContent = left > 0 ? say("more characters", { count: left }) : say("long enough");
}

/* ---- Rows that are edited ---- */

function cancelEdit(row) {
  const form = one("form", row);
  form.reset();
  if ("fill" in form.dataset) fill(form, client.user);
  check(form, () => "");
  announce("");
  row.open = false;
  one("summary", row).focus();
  form.dispatchEvent(new CustomEvent("cancelled", { bubbles: true }));
}

/* What was typed when the session ended, for the same person after the next sign-in. No secrets. */
let drafts = null;
const openForms = () => all("main details.row form[data-call]").map((form, n) => [form, n]);
const typedFields = (form) => [...form.elements].filter(({ name, type }) => name && type !== "password" && !["code", "proof"].includes(name));

function keepDrafts(person) {
  const kept = openForms().filter(([form]) => form.closest("details").open);
  if (!kept.length) return;
  const values = kept.map(([form, n]) => [n, typedFields(form).map(({ value }) => value)]);
  drafts = { person, path: location.pathname, values };
}

function restoreDrafts() {
  if (drafts?.person !== client.user?.id || drafts?.path !== location.pathname) return;
  for (const [n, values] of drafts.values) {
    const [form] = openForms()[n];
    typedFields(form).forEach((field, at) => (field.value = values[at]));
    form.closest("details").open = true;
  }
  drafts = null;
}

document.addEventListener("prepared", restoreDrafts);
document.addEventListener("keydown", ({ key, target }) => {
  const row = key === "Escape" && target.closest("details.row[open]");
  if (row) cancelEdit(row);
});

/* ---- Sending ---- */

/* A field's name in the API: on a page with several forms some have the prefix "own-". */
const called = (name) => name.replace(/^own-/, "");

/* The form's fields as the call's body; `settings.language` names a member of a member. */
function body(form) {
  const values = "link" in form.dataset ? { token: linkToken() ?? "" } : {};
  for (const [name, value] of new FormData(form)) {
    const [outer, inner] = name.split(".");
    if (inner) values[outer] = { ...values[outer], [inner]: value };
    else if (name !== "username") values[called(name)] = value;
  }
  return values;
}

function send(form, values) {
  if (form.work) return form.work(values); // given by the script of its page
  const [method, path] = form.dataset.call.split(" ");
  return form.closest("[data-members]") ? call(method, path, values) : client.send(method, path, values);
}

export const sender = (form) => one("button:not([type]), button[type=submit]", form);

/* Make the form's call for one of its buttons; `more` resolves to further members of the body. */
export async function submit(form, button = sender(form), more = () => ({})) {
  if (!check(form, (field) => field.willValidate && wrong(field))) return;
  all("[data-reveal][aria-pressed=true]", form).forEach((shown) => shown.click());
  let answer;
  const error = await attempt(button, async () => {
    const added = await more();
    const work = () => send(form, { ...body(form), ...added });
    answer = await ("patient" in form.dataset ? patiently(work) : work());
  });
  if (!error) return succeed(form, answer);
  if ("link" in form.dataset && error.message === "invalid or expired token") {
    announce("");
    refuseLink(form, problem(error));
  }
  const fields = error.body?.fields ?? {};
  check(form, ({ name }) => [].concat(fields[called(name)] ?? []).map((text) => say(text)).join(" "));
  await import("./factors.js"); // which a refusal may be about
  form.dispatchEvent(new CustomEvent("refused", { bubbles: true, detail: error }));
}

function succeed(form, answer) {
  form.dispatchEvent(new CustomEvent("accepted", { bubbles: true }));
  form.closest("details[open]")?.removeAttribute("open");
  if (form.work) return form.reset();
  const text = form.dataset.say && say(form.dataset.say, { ...body(form), ...form.link });
  if ("sent" in form.dataset) return showSent(form);
  if ("fill" in form.dataset) {
    client.update(answer);
    // A name, too, may be saved by who reads the pages in another language than the account's.
    return form.elements["settings.language"] ? goOn(answer, location.pathname, text) : announce(text);
  }
  if ("then" in form.dataset) return enter(form, answer, text);
  if ("next" in form.dataset) {
    sessionStorage.removeItem(key(location.pathname)); // used up
    if (form.link) remember(form.link.email);
    return visit(form.dataset.next, { text });
  }
  form.reset();
  announce(text);
  form.dispatchEvent(new CustomEvent("done", { bubbles: true }));
}

/* Signed in: by a link, which is used up now, or on the page for guests. */
export function enter(form, answer, text) {
  sessionStorage.removeItem(key(location.pathname));
  const path = form.dataset.then || afterLogIn();
  form.closest("[data-guests]")?.removeAttribute("data-guests");
  client.signIn(answer);
  const joined = one("main [data-joined]");
  if (joined) return showJoined(form, joined, text);
  return goOn(answer.user, path, text);
}

/* The invitation is accepted: what comes next is another site. */
function showJoined(form, joined, text) {
  form.hidden = true;
  joined.hidden = false;
  announce("");
  one("h1", joined).textContent = text;
  one("h1", joined).focus();
}

/* ---- "Check your mail" ---- */

function showSent(form) {
  const sent = one("main .sent");
  write(one("[data-address]", sent), form.elements.email.value);
  toggleSent(form, true);
  one("h1", sent).focus();
}

function toggleSent(form, sent) {
  one("main .ask").hidden = sent;
  one("main .sent").hidden = !sent;
  place();
  if (sent) pause(one("main [data-again]"));
}

/* A button with a countdown. */
let pausing = 0;
function pause(button, left = PAUSE) {
  clearTimeout(pausing);
  button.ariaDisabled = left ? "true" : null;
  button.textContent = left ? say("resend in", { seconds: String(left).padStart(2, "0") }) : say("resend");
  if (left && button.isConnected) pausing = setTimeout(pause, 1000, button, left - 1);
}

async function sendAgain(button, form) {
  if (button.ariaDisabled) return;
  const [method, path] = form.dataset.call.split(" ");
  const error = await attempt(button, () => client.send(method, path, body(form)));
  if (error) return;
  announce(say("sent again"));
  pause(button);
}

function askForAnother(form) {
  announce("");
  toggleSent(form, false);
  form.elements.email.select();
}

/* ---- Events, for all forms at once ---- */

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-call]")) return;
  event.preventDefault();
  submit(event.target);
});

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  if ("again" in button.dataset) sendAgain(button, one("main form"));
  if ("another" in button.dataset) askForAnother(one("main form"));
  if ("cancelRow" in button.dataset) cancelEdit(button.closest("details"));
});

addEventListener("hashchange", () => {
  const before = linkToken();
  takeToken();
  if (linkToken() !== before) visit(location.pathname, { push: false });
});
