// @ts-check
/* The people page: the company's figures, the only admin, who cannot be removed, the activity in sentences, and the
company's settings. */

/** @import { Account, Factors } from "./client.js" */
/** @import { AuditEvent, Figures, Page, Person, Rule } from "./types.js" */
import { listState, loadFirstPage, pauseList, rowElements, rowOf } from "./lists.js";
import { call, keepCompany, loadCompany, whenOnPage } from "./navigation.js";
import { placeInvitation } from "./people.js";
import {
  all, anchor, announce, announceProblem, attempt, confirmed, fillText, find, hide, LANGUAGE, make, on, one, say,
  translate, write,
} from "./screen.js";

/* ---- Figures ---- */

let admins = Infinity; // who are active, as far as is known

async function overview() {
  const place = find("[data-overview]");
  if (!place) return;
  /** @type {Figures} */
  const figures = await call("GET", "/pages/overview");
  fillText(place, figures);
  for (const item of all("li", place)) item.hidden = one("strong", item).textContent === "0";
  place.classList.remove("awaited");
  placeInvitation(figures.people + figures.invitations < 2);
  admins = figures.admins;
  one("main").toggleAttribute("data-tested", Boolean(figures.has_tested_provider));
  spareOnlyAdmin();
}

/* Actions that would leave the company without an admin are not offered. */
function spareOnlyAdmin() {
  for (const row of all("#people tr[data-id]")) {
    const person = /** @type {Person} */ (rowOf(row).item);
    if (person.role !== "admin" || !person.is_active) continue;
    for (const act of ["make member", "deactivate"]) one(`[data-for="${act}"]`, row).hidden = admins < 2;
  }
}

on("loaded", "#people", () => {
  spareOnlyAdmin();
  overview().catch(() => {}); // the list shows the error
});
whenOnPage("[data-tab=everyone][hidden]", () => overview().catch(() => {})); // another tab was opened first

/* ---- Activity ---- */

const SIGN_INS = ["login.succeeded", "signup.completed", "invitation.accepted"];
const SAME_CALL = 2000; // milliseconds
const KEY = /^API key /; // what begins the name of an API key
const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto" });
const YEAR = 360 * 86400; // seconds
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["year", YEAR], ["month", YEAR / 12], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** How long ago, in the largest unit that fits. @param {Date} time */
function ago(time) {
  const past = (time.getTime() - Date.now()) / 1000;
  const [unit, seconds] = UNITS.find(([, seconds]) => Math.abs(past) >= seconds) ?? UNITS[UNITS.length - 1];
  return relative.format(Math.trunc(past / seconds), unit);
}

/** An event's sentence: for its detail, for what users do to themselves, or else for its kind. @param {AuditEvent} event */
function sentence({ kind, actor, subject, detail }) {
  const own = !actor || actor === subject ? "self" : "";
  const zone = "time_zone" in detail && "time_zone";
  const variants = [detail.role ?? detail.second_factor ?? zone, own].filter(Boolean);
  const { content } = one("template#sentences");
  const kinds = [...variants.map((variant) => `${kind}:${variant}`), kind];
  return kinds.map((name) => find(`[data-kind="${name}"]`, content)).find(Boolean)?.textContent ?? kind;
}

/** Write an event into its row, with names in bold. @param {HTMLTableRowElement} row @param {AuditEvent} event */
function tellEvent(row, event) {
  const detail = /** @type {Record<string, string> & { claims?: { client?: string } }} */ (event.detail);
  /** @type {Record<string, unknown>} */
  const values = {
    ...detail,
    actor: (event.actor_name || event.actor || say("support")).replace(KEY, `${say("API key")} `),
    subject: (event.subject_name || event.subject).replace(KEY, ""), // the sentence says it
    app: detail.claims?.client || detail.host,
    factor: translate(detail.factor),
    time_zone: detail.time_zone || "UTC",
  };
  const cell = one("[data-sentence]", row);
  sentence(event).split(/\{(\w+)\}/).forEach((part, n) => {
    const name = make("strong", {});
    write(name, String(values[part] ?? ""));
    cell.append(n % 2 ? name : part);
  });
  if (event.via) cell.append(" ", say("via", values));
  const date = new Date(event.at ?? "");
  Object.assign(one("time", row), {
    textContent: ago(date),
    dateTime: event.at,
    title: date.toLocaleString(LANGUAGE, { dateStyle: "full", timeStyle: "medium" }),
  });
}

on("loaded", "#events", (list, { detail }) => {
  const events = /** @type {AuditEvent[]} */ (detail.items);
  const rows = rowElements(list);
  for (const [n, event] of events.entries()) tellEvent(rows[n], event);
  for (const [n, event] of events.entries()) {
    const signIn = events.findIndex((other) => isSignInOf(event, other));
    if (event.kind !== "device.known" || signIn < 0) continue;
    one("[data-sentence]", rows[signIn]).append(" ", say("new device"));
    rows[n].remove();
  }
});

/** A device becomes known in the same call as its sign-in. @param {AuditEvent} device @param {AuditEvent} event */
function isSignInOf(device, { kind, actor, subject, at }) {
  const apart = new Date(device.at ?? "").getTime() - new Date(at ?? "").getTime();
  return SIGN_INS.includes(kind) && [actor, subject].includes(device.actor) && Math.abs(apart) < SAME_CALL;
}

on("act", "#people", async (_, { detail: { act, row } }) => {
  if (act !== "history") return;
  await showEventsOf(/** @type {Person} */ (row.item));
  find("[data-tab=activity] h2")?.focus(); // the menu's tab is hidden
});

/** Show the activity of one person; without one, of all. @param {Person | null} person */
async function showEventsOf(person) {
  const list = one("#events");
  one("input[data-whom]").value = person ? describePerson(person) : "";
  Object.assign(listState(list), { userId: person?.id ?? "", isPaused: false });
  one("[data-candidates]").hidden = true;
  location.hash = "#activity";
  await loadFirstPage(list);
}

/** @param {Person} person */
const describePerson = ({ first_name, last_name, email }) => `${first_name} ${last_name} · ${email}`.replace(/^[ ·]+/, "");

/** @param {string} search @param {number} size @returns {Promise<Page<Person>>} */
const findPeople = (search, size) => call("GET", `/users?${new URLSearchParams({ search, per_page: String(size) })}`);

/** Choose the person whose name or e-mail address was typed, or offer several. @param {HTMLInputElement} field */
async function choosePerson(field) {
  const search = field.value.trim();
  if (!search) return showEventsOf(null);
  pauseList(one("#events"));
  const { items, total } = await findPeople(search, 20);
  if (!field.isConnected || field.value.trim() !== search) return; // overtaken
  // A search for anna@… also finds joanna@….
  const person = items.find(({ email }) => email.toLowerCase() === search.toLowerCase());
  if (person || total === 1) return showEventsOf(person ?? items[0]);
  announce(say(total ? "several found" : "nobody found", { count: total }), total ? "wait" : "bad");
  const place = one("[data-candidates]");
  place.hidden = !total;
  place.replaceChildren(...items.map(makeCandidate));
  find("button", place)?.focus();
}

/** @param {Person} person */
function makeCandidate(person) {
  const button = make("button", { type: "button", className: "plain" });
  button.addEventListener("click", async () => {
    await attempt(button, () => showEventsOf(person));
    one("[data-whom]").focus();
  });
  write(button, describePerson(person));
  return button;
}

on("change", "input[data-whom]", (field) =>
  choosePerson(field).catch((error) => field.isConnected && announceProblem(error)));

on("input", "input[data-whom]", async ({ value }) => {
  if (value.length < 2) return;
  const { items } = await findPeople(value, 8).catch(() => ({ items: [] })); // choosing says what is wrong
  find("#whom")?.replaceChildren(...items.map((item) => new Option(`${item.first_name} ${item.last_name}`, item.email)));
});

/* ---- Settings ---- */

on("opened", "[data-tab=settings]", () => loadCompany().then(drawSettings, announceProblem));
on("done", "form[data-call='PATCH /account']", (_, { detail }) => drawSettings(/** @type {Account} */ (detail)));

/** Draw them, but for the row that is being edited. @param {Account} account */
function drawSettings(account) {
  keepCompany(account);
  const tab = find("[data-tab=settings]");
  if (!tab) return; // another page is shown
  fillText(tab, { time_zone: account.time_zone || "UTC", rule: say(`rule: ${account.second_factor}`) });
  hide(all("[data-factor-rule]", tab), ({ dataset }) => dataset.factorRule === account.second_factor);
  const name = find("details:not([open]) input[name=name]", tab);
  if (name) name.value = name.defaultValue = account.name;
  find("details:not([open]) select[name=time_zone]", tab)?.replaceChildren(...timeZones(account.time_zone));
}

/** The choices of a time zone, with the chosen one also where this browser has no such name. @param {string} chosen */
function timeZones(chosen) {
  const names = new Set(["", chosen, ...Intl.supportedValuesOf("timeZone")]);
  names.delete("UTC"); // the API's ""
  return [...names].map((name) => new Option(name || "UTC", name, name === chosen, name === chosen));
}

on("click", "button[data-factor-rule]", async (button) => {
  const rule = /** @type {Rule} */ (button.dataset.factorRule);
  if (rule === "required") {
    /** @type {Factors} */
    const { items } = await call("GET", "/auth/factors");
    if (!items.length) {
      announce(say("set up a second factor yourself first"), "bad");
      return one("#status").append(" ", anchor("/profile", say("set up")));
    }
    if (!(await confirmed(button, say("require: sure"), say("require: then")))) return;
  }
  const work = async () => drawSettings(await call("PATCH", "/account", { second_factor: rule }));
  if (!(await attempt(button, work, say("saved")))) one("button[data-factor-rule]:not([hidden])").focus();
});
