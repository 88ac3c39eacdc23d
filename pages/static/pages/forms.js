// @ts-check
/* The pages' forms: `data-call` names a form's call. Fields are validated when they lose the focus, and
by the API. */

/** @import { AuthResponse, User } from "./client.js" */
/** @import { Link, Values } from "./types.js" */
import { Refused } from "./client.js";
import { afterLogIn, call, client, goOn, visit, whenShown } from "./navigation.js";
import {
  all, announce, attempt, drawReadable, fieldOf, fillText, find, keep, nameOf, on, one, patiently, problem, replacePart,
  say, tell, translate, withProgress, write,
} from "./screen.js";

const PAUSE = 30; // seconds between two mails
const TYPED = "typed-address"; // in sessionStorage: the e-mail address last typed in this tab

export const FOUNDER = "founder"; // in localStorage: the id of a user who has yet to take the first steps

/** Fill this address into the pages that ask for one. @param {string} email */
export const remember = (email) => keep(sessionStorage, TYPED, email);

/** @typedef {(values: Values) => Promise<unknown>} Work */
/** What a form's link is for. @type {WeakMap<HTMLFormElement, Link>} */
export const linkOf = new WeakMap();
/** What is done with a form's fields instead of its call. @type {WeakMap<HTMLFormElement, Work>} */
export const workOf = new WeakMap();

/* ---- E-mailed links: the token moves from the address bar to sessionStorage until it is used ---- */

const key = () => `link:${location.pathname}`;
const linkToken = () => sessionStorage.getItem(key());
export const forgetLink = () => sessionStorage.removeItem(key());

export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  sessionStorage.setItem(key(), token);
  history.replaceState(null, "", location.pathname + location.search);
}

/** @param {HTMLFormElement} form @param {string} text */
function refuseLink(form, text) {
  forgetLink();
  one("main .dead p").textContent = text;
  replacePart(form, one("main .dead"));
}

/**
 * Look up what the link is for, without using it up. If that fails, submitting shows the error. A limit is waited for.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} main
 */
async function openLink(form, main) {
  if (!linkToken()) return refuseLink(form, say("no link"));
  try {
    const body = { token: linkToken(), page: location.pathname.slice(1) };
    /** @type {Link} */
    const link = await patiently(() => client.send("POST", /** @type {string} */ ("/pages/link"), body));
    linkOf.set(form, link);
    for (const part of all("[data-link-text]", main)) write(part, translate(part.dataset.linkText ?? "", link));
    showAddress(form, link.email);
    if (link.hindrance) replacePart(form, one(`[data-hindrance=${link.hindrance}]`));
  } catch (error) {
    if (error instanceof Refused && error.status === 400) refuseLink(form, problem(error));
  }
}

/** Show whose password is set, to users and password managers. @param {HTMLFormElement} form @param {string} email */
function showAddress(form, email) {
  const field = fieldOf(form, "username");
  if (!field) return; // the link is not for a password
  field.value = email;
  if (field.type === "hidden") return;
  drawReadable(email, (shown) => (field.value = shown));
  one(".field:has([name=username])", form).hidden = false;
  warn();
}

/* Warn before submitting if another user is signed in than the one the link is for. */
function warn() {
  const email = client.user?.email;
  for (const place of all("form [data-somebody-else]")) {
    const form = place.closest("form");
    const differs = form && email && email !== linkOf.get(form)?.email;
    write(place, differs ? say("signed in as somebody else", { email }) : "");
  }
}

/* An invitation that the form can't accept, since the company requires its provider. */
on("click", "button[data-join]", (button) =>
  attempt(button, async () => {
    const link = linkOf.get(one("main form"));
    location.assign((await client.findProvider(link?.email ?? "")).url ?? "/login");
  }));

/* ---- A form that becomes usable ---- */

whenShown(async (main) => {
  for (const form of all("form[data-call]", main)) {
    if ("fill" in form.dataset) fill(form);
    if ("link" in form.dataset) await withProgress(() => openLink(form, main));
    else prefillAddress(form);
  }
  showOwn();
});

function showOwn() {
  if (!client.user) return;
  const language = find(`footer [data-language=${client.user.settings.language}]`)?.textContent;
  const values = { ...client.user, language, role: say(client.user.role), name: nameOf(client.user) };
  for (const part of all("[data-own]")) fillText(part, values);
}

document.addEventListener("session", (event) => {
  const { before } = /** @type {CustomEvent<{ before: string | null }>} */ (event).detail;
  if (!client.user && before) keepDrafts(before);
  showOwn();
  all("form[data-call]").forEach(prefillAddress);
  warn();
});

/** Write the user's data into the form's fields. @param {HTMLFormElement} form */
function fill(form) {
  const user = /** @type {User} */ (client.user);
  const values = /** @type {Values} */ ({ ...user, "settings.language": user.settings.language });
  for (const field of namedFields(form)) field.value = String(values[field.name]);
}

/** Fill in the address that was typed on another page, or that of the signed-in user. @param {HTMLFormElement} form */
function prefillAddress(form) {
  const field = find("input[data-known]", form);
  if (field && !field.value) field.value = client.user?.email ?? sessionStorage.getItem(TYPED) ?? "";
}

/* ---- Fields ---- */

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** @param {HTMLElement} form */
const namedFields = (form) => all("input[name], select[name]", form);

/** @param {Field} field @param {string} text */
function mark(field, text) {
  const error = document.getElementById(`${field.id}-error`);
  if (!error) return;
  field.ariaInvalid = text ? "true" : null;
  error.textContent = text;
}

/** A password's characters as the API counts them: code points in NFC. An emoji may have several. @param {string} text */
const countOf = (text) => [...text.normalize("NFC")].length;

/** The browser's validation error of a field, in our words. @param {Field} field */
function wrong(field) {
  if (!field.willValidate) return "";
  if (field.validity.valueMissing) return say("This field is required.");
  if (field.validity.typeMismatch) {
    const hasLetter = /[^\0-\x7f].*@/.test(field.value);
    return say(hasLetter ? "Before the @, use only letters a to z without accents, digits and signs." : "Enter a valid email address.");
  }
  if (field.validity.patternMismatch) return field.title;
  const least = field instanceof HTMLInputElement ? field.minLength : 0;
  if (countOf(field.value) < least) return say("too short", { count: least });
  const most = Number(field.dataset.most); // no maxlength, by which browsers would cut what is pasted
  return [...field.value].length > most ? say("too long", { count: most }) : "";
}

/**
 * Mark all fields of a form with their errors. If there are any, focus the first field and return false.
 * @param {HTMLFormElement} form
 * @param {(field: Field) => string} errorOf
 */
function check(form, errorOf) {
  for (const field of namedFields(form)) mark(field, errorOf(field));
  const first = find("[aria-invalid]", form);
  first?.focus();
  return !first;
}

on("focusout", "form[data-call] input", (input, event) => {
  const next = /** @type {Element | null} */ (event.relatedTarget);
  if (!input.value || input.readOnly) return;
  // Not when the focus moves to "Show", and not to the form's button, which validates all fields.
  if (next?.matches("button") || input.closest(".field")?.contains(next)) return;
  mark(input, wrong(input));
});

on("input", "form[data-call] input", (input) => {
  if (input.ariaInvalid && !wrong(input)) mark(input, "");
  if (input.matches("[data-known]")) remember(input.value);
  if (input.minLength > 0) countDown(input);
});

/** The live hint of a new password: how many characters are still missing. @param {HTMLInputElement} field */
function countDown(field) {
  const hint = one(`#${field.id}-hint`);
  const count = field.minLength - countOf(field.value);
  hint.dataset.met = String(count <= 0);
  hint.textContent = count > 0 ? say("more characters", { count }) : say("long enough");
}

/* ---- Rows that are edited ---- */

/** @param {HTMLDetailsElement} row */
function cancelEdit(row) {
  const form = one("form", row);
  form.reset();
  if ("fill" in form.dataset) fill(form);
  check(form, () => "");
  announce("");
  row.open = false;
  one("summary", row).focus();
  tell(form, "cancelled");
}

/* What was typed when the session ended, by the fields' ids, for the same user after the next sign-in. No secrets. */
/** @type {{ userId: string, path: string, values: [string, string][] } | null} */
let drafts = null;

/** @param {string} userId */
function keepDrafts(userId) {
  const fields = all("main details.row[open] form[data-call]").flatMap(namedFields);
  const typed = fields.filter(({ type }) => type !== "password");
  drafts = { userId, path: location.pathname, values: typed.map(({ id, value }) => [id, value]) };
}

document.addEventListener("prepared", () => {
  if (drafts?.userId !== client.user?.id || drafts?.path !== location.pathname) return;
  for (const [id, value] of drafts.values) {
    const field = /** @type {Field} */ (document.getElementById(id));
    field.value = value;
    field.closest("details")?.setAttribute("open", "");
  }
  drafts = null;
});

on("keydown", "details.row[open]", (row, { key }) => key === "Escape" && cancelEdit(row));

/* ---- Sending ---- */

/**
 * The form's fields as the call's body; `settings.language` names a member of a member.
 * @param {HTMLFormElement} form
 */
function body(form) {
  /** @type {Values} */
  const values = "link" in form.dataset ? { token: linkToken() ?? "" } : {};
  for (const [name, value] of new FormData(form)) {
    if (name !== "username") values[name] = String(value);
  }
  for (const box of all("input[type=checkbox]:not([value])", form)) values[box.name] = box.checked;
  const { "settings.language": language, ...others } = values;
  return language ? { ...others, settings: { language } } : others;
}

/** @param {HTMLFormElement} form @param {Values} values @returns {Promise<unknown>} */
function send(form, values) {
  const work = workOf.get(form);
  if (work) return work(values);
  const [method, path] = (form.dataset.call ?? "").split(" ");
  return form.closest("[data-members]") ? call(method, path, values) : client.send(method, path, values);
}

/** @param {HTMLFormElement} form */
export const sender = (form) => /** @type {HTMLButtonElement} */ (one("button:not([type]), button[type=submit]", form));

/**
 * Make the form's call for one of its buttons; `more` resolves to further members of the body.
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} [button]
 * @param {() => Values | Promise<Values>} [more]
 */
export async function submit(form, button = sender(form), more = () => ({})) {
  if (!check(form, wrong)) return;
  for (const shown of all("button[data-reveal][aria-pressed=true]", form)) shown.click();
  const error = await attempt(button, async () => {
    const added = await more();
    const work = () => send(form, { ...body(form), ...added });
    succeed(form, await ("patient" in form.dataset ? patiently(work) : work()));
  });
  if (!error) return;
  if ("link" in form.dataset && error.message === "invalid or expired token") {
    announce("");
    refuseLink(form, problem(error));
  }
  const fields = (error instanceof Refused && error.body?.fields) || {};
  check(form, ({ name }) => errorsIn(fields[name]));
  if (form.dataset.late) await import(`./${form.dataset.late}.js`);
  tell(form, "refused", error);
}

/** The API's errors of a field. @param {string | string[] | undefined} messages */
export const errorsIn = (messages = []) => [messages].flat().map((message) => translate(message)).join(" ");

/** @param {HTMLFormElement} form @param {unknown} answer */
function succeed(form, answer) {
  form.closest("details[open]")?.removeAttribute("open");
  if (workOf.has(form)) return form.reset();
  const link = linkOf.get(form);
  const text = form.dataset.say && translate(form.dataset.say, { ...body(form), ...link });
  if ("sent" in form.dataset) return showSent(form);
  if ("fill" in form.dataset) {
    const user = /** @type {User} */ (answer);
    client.update(user);
    // A name, too, may be saved by who reads the pages in another language than the account's.
    return fieldOf(form, "settings.language") ? goOn(user, location.pathname, text) : announce(text ?? "");
  }
  if ("then" in form.dataset) return enter(form, /** @type {AuthResponse} */ (answer), text);
  if (form.dataset.next) {
    forgetLink(); // used up
    if (link) remember(link.email);
    return visit(form.dataset.next, { text });
  }
  form.reset();
  const session = /** @type {AuthResponse | null} */ (answer);
  if (session?.access_token) client.signIn(session); // the call has ended the others
  announce(text ?? "");
  tell(form, "done", answer);
}

/**
 * Signed in: by a link, which is used up now, or on the page for guests.
 * @param {HTMLFormElement} form
 * @param {AuthResponse} answer
 * @param {string} [text]
 */
export function enter(form, answer, text = "") {
  forgetLink();
  const path = form.dataset.then || afterLogIn();
  form.closest("[data-guests]")?.removeAttribute("data-guests");
  client.signIn(answer);
  if ("founder" in form.dataset) keep(localStorage, FOUNDER, answer.user.id);
  const joined = find("main [data-joined]");
  if (!joined) return goOn(answer.user, path, text);
  // The invitation is accepted: what comes next is another site.
  announce("");
  one("h1", joined).textContent = text;
  replacePart(form, joined);
}

/* ---- "Check your mail" ---- */

/** @param {HTMLFormElement} form */
function showSent(form) {
  write(one("main .sent [data-address]"), fieldOf(form, "email").value);
  replacePart(one("main .ask"), one("main .sent"));
  pause(one("main [data-again]"));
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pausing;

/** Count down on a button that can't be used meanwhile. @param {HTMLElement} button */
function pause(button, left = PAUSE) {
  clearTimeout(pausing);
  button.ariaDisabled = left ? "true" : null;
  button.textContent = left ? say("resend in", { seconds: String(left).padStart(2, "0") }) : say("resend");
  if (left && button.isConnected) pausing = setTimeout(pause, 1000, button, left - 1);
}

/* ---- Events, for all forms at once ---- */

on("submit", "form[data-call]", (form, event) => {
  event.preventDefault();
  submit(form);
});

on("click", "button[data-again]", async (button) => {
  if (button.ariaDisabled) return;
  const form = one("main form");
  if (!(await attempt(button, () => send(form, body(form)), say("sent again")))) pause(button);
});

on("click", "button[data-another]", () => {
  announce("");
  replacePart(one("main .sent"), one("main .ask"));
  fieldOf(one("main form"), "email").select();
});

on("click", "button[data-cancel-row]", (button) => cancelEdit(/** @type {HTMLDetailsElement} */ (button.closest("details"))));

addEventListener("hashchange", () => {
  const before = linkToken();
  takeToken();
  if (linkToken() !== before) visit(location.pathname, { push: false });
});
