/* The people page besides its lists: tabs, invitations, bulk actions, the download and the company's
name. */

import { ACTS, loadAll, loadFirstPage, mayStay, perform, wanted } from "./lists.js";
import { call, client, offer, whenShown } from "./navigation.js";
import { all, announce, attempt, confirmed, download, one, problem, say } from "./screen.js";

const MOST = 100; // of a page of a list
const MOST_AT_ONCE = 50; // invitations in a call

/* ---- Tabs, selected by the fragment ---- */

function showTab() {
  const tabs = all("main [data-tab]");
  if (!tabs.length) return;
  const wanted = tabs.find(({ dataset }) => `#${dataset.tab}` === location.hash) ?? tabs[0];
  for (const tab of tabs) tab.hidden = tab !== wanted;
  for (const link of all("main .tabs a")) {
    link.ariaCurrent = link.hash === `#${wanted.dataset.tab}` ? "page" : null;
  }
}

whenShown(showTab);
addEventListener("hashchange", showTab);

/* Set the filters of a tab's list, and reload it. */
function setFilters({ hash, dataset }) {
  const section = one(`[data-tab=${hash.slice(1)}]`);
  const wanted = new URLSearchParams(dataset.filters);
  for (const field of all(".filters [data-filter]", section)) field.value = wanted.get(field.dataset.filter) ?? "";
  loadFirstPage(one("[data-list]", section));
}

/* ---- Invitations ---- */

/* The emails in a pasted list: lines, commas, semicolons, "Name <a@b>". */
export function emails(text) {
  const parts = text.split(/[\n,;]+/).map((part) => (/<([^<>]*)>/.exec(part)?.[1] ?? part).trim());
  return [...new Set(parts.filter(Boolean))];
}

/* In a company of one, the form is on the page itself, otherwise in a dialog. */
export function placeInvitation(alone) {
  const form = one("[data-team]");
  if (one("[data-outcome] *", form)) return; // it is being read
  one("main [data-invite]").classList.remove("awaited");
  one("main [data-invite]").hidden = alone;
  one("[data-invite-here]").hidden = !alone;
  const place = one(alone ? "[data-invite-here]" : "#invite");
  if (!place.contains(form)) place.append(form); // moving it would lose the focus
}

function openInvitation() {
  one("#invite").showModal();
  one("#team").focus();
}

async function invite(form) {
  const button = one("button[type=submit]", form);
  if (button.ariaDisabled) return; // clicked twice
  const [text, role, language] = all("textarea, select", form).map((field) => field.value);
  const wanted = emails(text).map((email) => ({ email, role, language }));
  const place = one("[data-outcome]", form);
  place.replaceChildren();
  if (!wanted.length) return place.append(line("p", say("This field is required.")));
  const items = [];
  const error = await attempt(button, async () => {
    for (let from = 0; from < wanted.length; from += MOST_AT_ONCE) {
      const invitations = wanted.slice(from, from + MOST_AT_ONCE);
      items.push(...(await call("POST", "/invitations", { invitations })).items);
    }
  });
  const refused = items.filter((item) => item.error);
  const count = items.length - refused.length;
  const sent = say(count === 1 ? "invited" : "invited: several", { count, email: items.find((item) => !item.error)?.email });
  const left = [...refused, ...wanted.slice(items.length)];
  one("textarea", form).value = left.map(({ email }) => email).join("\n");
  if (error) {
    if (count) place.append(line("p", sent));
    place.append(line("p", problem(error)));
  } else if (refused.length) {
    const list = document.createElement("ul");
    list.append(...refused.map((item) => line("li", `${item.email}: ${reason(item)}`)));
    const key = count === 1 ? "invited: one, refused" : "invited: refused";
    place.append(line("p", say(key, { count, refused: refused.length })), list);
    one("textarea", form).focus();
  } else {
    form.closest("dialog")?.close();
    announce(sent);
  }
  form.dispatchEvent(new CustomEvent("done", { bubbles: true }));
}

function line(tag, text) {
  return Object.assign(document.createElement(tag), { textContent: text });
}

function reason({ error, fields }) {
  const wrong = fields && Object.values(fields).flat().map((text) => say(text)).join(" ");
  return wrong || say(error);
}

/* ---- Bulk actions ---- */

const picked = (section) => all("tr:has([data-pick]:checked)", section);

function drawBulk(section) {
  const bar = one("[data-bulk]", section);
  if (!bar) return;
  const rows = picked(section);
  const boxes = all("[data-pick]", section);
  bar.hidden = !rows.length;
  one("span", bar).textContent = say("selected", { count: rows.length });
  for (const button of all("button", bar)) button.hidden = !concerned(rows, button).length;
  const every = one("[data-pick-all]", section);
  every.checked = boxes.length > 0 && rows.length === boxes.length;
  every.indeterminate = rows.length > 0 && !every.checked;
}

/* The rows on which the button acts, without the user's own. */
function concerned(rows, { dataset }) {
  const facts = rows.map((row) => row.facts);
  return facts.filter(({ id, acts }) => id !== client.user.id && acts.includes(dataset.bulkAct));
}

const UNDO = { "make admin": "make member", "make member": "make admin", deactivate: "activate" };

async function actOnPicked(button) {
  const act = button.dataset.bulkAct;
  const people = concerned(picked(button.closest("section")), button);
  const [several, names] = [people.length > 1, people.map(({ name }) => name).join(", ")];
  const values = several ? { count: people.length } : people[0];
  const [sure, then] = ["sure", "then"].map((part) => say(`${act}: ${part}${several ? ", several" : ""}`, values));
  const declined = ACTS[act].ask && !(await confirmed(button, sure, several ? `${names}. ${then}` : then));
  if (!declined) await actOnAll(button, act, people);
}

/* Act on these one after another, say what came of it, and offer to undo it. */
async function actOnAll(button, act, people, said = `${act}: done`) {
  const failed = new Map();
  const list = one("[data-list]", button.closest("section") ?? one("[data-tab=everyone]"));
  const error = await attempt(button, async () => {
    for (const facts of people) {
      try {
        await perform(facts, ACTS[act].call(facts.id, facts));
      } catch (error) {
        failed.set(facts.id, `${facts.name} (${problem(error).replace(/\.$/, "")})`);
      }
    }
    list.kept = new Set(failed.keys()); // who stays picked
    if (mayStay()) await loadAll();
  });
  if (error || !mayStay()) return;
  const done = people.filter(({ id }) => !failed.has(id));
  if (failed.size) announce(say("several: failed", { count: done.length, names: [...failed.values()].join(", ") }), "bad");
  else if (done.length > 1) announce(say(`${said}, several`, { count: done.length }));
  else announce(say(said, done[0]));
  const undo = UNDO[act] && said !== "undone" && done.length;
  if (undo) offer(say("undo"), (undoing) => actOnAll(undoing, UNDO[act], done, "undone"));
  one("main h1").focus();
}

document.addEventListener("loaded", ({ target: list }) => {
  for (const row of all("tr[data-id]", list)) {
    const box = one("[data-pick]", row);
    if (box) box.checked = list.kept?.has(row.dataset.id);
    if (box) box.ariaLabel = say("select", row.facts);
  }
  list.kept = null;
  drawBulk(list.closest("section"));
});

/* ---- Download ---- */

/* A value for a spreadsheet: text that begins like a formula is quoted, also after a semicolon or tab,
at which some spreadsheets split. */
export function cell(value) {
  const text = String(value ?? "").replace(/^(?=[\t\r])|(^|[;\t\r\n])(?=\s*[=+\-@])/g, "$1'");
  return `"${text.replaceAll('"', '""')}"`;
}

export const BOM = "\ufeff"; // by which Excel knows UTF-8
const COLUMNS = ["email", "first_name", "last_name", "role", "status", "last_sign_in_at", "created_at"];
const EVENT_COLUMNS = ["at", "kind", "actor", "actor_name", "subject", "subject_name", "address", "via"];

async function whole(path, asked = {}) {
  const found = [];
  for (let page = 1; ; page += 1) {
    const { items, total } = await call("GET", `${path}?${new URLSearchParams({ ...asked, page, per_page: MOST })}`);
    found.push(...items);
    if (!items.length || page * MOST >= total) return found;
  }
}

function saveTable(name, columns, rows) {
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(","));
  download(name, "text/csv", BOM + [columns.join(","), ...lines].join("\r\n"));
}

/* The events that the filters select, up to now: later ones would move the pages. */
async function saveEvents(list) {
  const asked = { until: new Date().toISOString(), ...wanted(list) };
  saveTable("activity.csv", EVENT_COLUMNS, await whole("/audit", asked));
}

async function savePeople() {
  const people = await whole("/users");
  const rows = people.map((item) => ({ ...item, status: item.is_active ? "active" : "deactivated" }));
  rows.push(...(await whole("/invitations")).filter(({ status }) => status !== "accepted"));
  saveTable("people.csv", COLUMNS, rows);
}

/* ---- The company's name ---- */

async function drawName(form) {
  const { name } = await call("GET", "/account");
  form.elements.name.value = form.elements.name.defaultValue = name;
  sessionStorage.setItem("company", name);
  for (const place of all("[data-company]")) place.textContent = name;
}

whenShown(async (main) => {
  const form = one("form[data-company-name]", main);
  if (form) await drawName(form);
});

document.addEventListener("done", ({ target }) => {
  if (target.matches("form[data-company-name]")) drawName(target);
});

/* ---- Events ---- */

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-team]")) return;
  event.preventDefault();
  invite(event.target);
});
document.addEventListener("change", ({ target }) => {
  const section = target.closest("section");
  if (target.matches("[data-pick-all]")) {
    for (const box of all("[data-pick]", section)) box.checked = target.checked;
  }
  if (target.matches("[data-pick], [data-pick-all]")) drawBulk(section);
});
document.addEventListener("click", ({ target }) => {
  const control = target.closest("button, a[data-filters]");
  if (!control) return;
  if ("filters" in control.dataset) setFilters(control);
  if ("moreFilters" in control.dataset) control.ariaExpanded = String(control.ariaExpanded !== "true");
  if ("csv" in control.dataset) {
    const events = one("#events", control.closest("section"));
    attempt(control, () => (events ? saveEvents(events) : savePeople()));
  }
  if ("invite" in control.dataset) openInvitation();
  if ("close" in control.dataset) control.closest("dialog").close();
  if ("bulkAct" in control.dataset) actOnPicked(control);
});
