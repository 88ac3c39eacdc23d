// @ts-check
/* The people page besides its lists: tabs, invitations, bulk actions and the download. */

/** @import { Act, BulkAskedAct, Row } from "./lists.js" */
/** @import { AuditEvent, Invitation, Page, Person, Values } from "./types.js" */
import { errorsIn } from "./forms.js";
import {
  filtersOf, listState, loadAll, loadFirstPage, loadShown, mayStay, perform, queryOf, rowElements, rowFor, rowOf,
  sectionOf, usual,
} from "./lists.js";
import { call, client, offer, whenShown } from "./navigation.js";
import {
  all, announce, announceProblem, attempt, confirmed, download, find, hide, LANGUAGE, make, on, one, problem, say, tell,
  translate, withProgress, write,
} from "./screen.js";

const MOST = 100; // of a page of a list
const MOST_AT_ONCE = 50; // invitations in a call
const MOST_NAMED = 10; // people in a sentence

/* ---- Tabs, selected by the fragment, whose lists are loaded when they are opened ---- */

function showTab() {
  const tabs = all("main [data-tab]");
  if (!tabs.length) return; // another page
  const current = tabs.find(({ dataset }) => `#${dataset.tab}` === location.hash) ?? tabs[0];
  hide(tabs, (tab) => tab !== current);
  const [service, page] = document.title.split(" · ").reverse();
  document.title = [one("h2", current).textContent, page, service].join(" · ");
  for (const link of all("main .tabs a")) {
    link.ariaCurrent = link.hash === `#${current.dataset.tab}` ? "page" : null;
    if (link.ariaCurrent) link.scrollIntoView({ block: "nearest" });
  }
  tell(current, "opened");
  return loadShown();
}

whenShown(showTab);
addEventListener("hashchange", () => withProgress(showTab).catch(announceProblem));

/* ---- Filters and order ---- */

/* Set the filters of a tab's list, and reload it. */
on("click", "a[data-filters]", ({ hash, dataset }) => {
  const section = one(`[data-tab=${hash.slice(1)}]`);
  const filters = new URLSearchParams(dataset.filters);
  for (const field of all(".filters input[data-filter], .filters select[data-filter]", section)) {
    field.value = filters.get(field.dataset.filter ?? "") ?? "";
  }
  loadFirstPage(one("[data-list]", section));
});

on("click", "button[data-more-filters]", (button) => {
  button.ariaExpanded = String(button.ariaExpanded !== "true");
});

const VIEW = ["sort", "per_page"]; // what filters no row
/** @param {HTMLElement} list */
const rowFilters = (list) => filtersOf(list).filter(({ dataset }) => !VIEW.includes(dataset.filter ?? ""));

on("click", "button[data-clear]", (button) => {
  const section = sectionOf(button);
  const list = one("[data-list]", section);
  for (const field of rowFilters(list)) field.value = usual(field);
  one("[data-search]", section).focus();
  loadFirstPage(list);
});

on("click", "button[data-sort]", ({ dataset: { sort = "" } }) => {
  const order = one("select[data-filter=sort]");
  const opposite = sort.startsWith("-") ? sort.slice(1) : `-${sort}`;
  order.value = (order.value || "name") === sort ? opposite : sort;
  loadFirstPage(one("#people"));
});

on("loaded", "#people", (list) => {
  const section = sectionOf(list);
  const set = rowFilters(list).filter(({ value }) => value);
  const filters = String(new URLSearchParams(set.map(({ dataset, value }) => [dataset.filter ?? "", value])));
  one("[data-clear]", section).hidden = !filters;
  for (const link of all("a[data-filters]", section)) {
    link.ariaCurrent = link.dataset.filters === filters ? "true" : null;
  }
  const order = one("select[data-filter=sort]", section).value || "name";
  for (const { dataset, parentElement } of all("button[data-sort]", section)) {
    const isOrder = order.endsWith(dataset.sort?.replace("-", "") ?? "");
    const direction = order.startsWith("-") ? "descending" : "ascending";
    if (parentElement) parentElement.ariaSort = isOrder ? direction : null;
  }
});

/* ---- Invitations ---- */

/** The emails in a pasted list: between spaces, commas, semicolons, or in "Name, name <a@b>". @param {string} text */
function emails(text) {
  const lines = text.replaceAll(/>+/g, ">\n").split(/[\n;]+/);
  return [...new Set(lines.flatMap(emailsOf).filter(Boolean))];
}

/** The emails in a line, also mistyped ones. The line may end with one in brackets. @param {string} line */
function emailsOf(line) {
  const [, before, email] = /^(.*)<([^<>]*)>$/s.exec(line) ?? [];
  if (before === undefined) return line.split(/[\s,]+/);
  const parts = before.split(",");
  const name = parts.pop() ?? "";
  const last = parts.findLastIndex((part) => /@|\w\.\w/.test(part)); // the parts behind it are last names
  const others = [...parts.slice(0, last + 1), ...name.split(/\s+/).filter((word) => /.@./.test(word))];
  return [...others.flatMap((part) => part.split(/\s+/)).map(unquoted), email.trim()];
}

/** @param {string} word */
const unquoted = (word) => word.replaceAll(/^["'(]+|(?<!["')])["')]+$/g, "");

/** Put the form on the page itself in a company of one, otherwise into a dialog. @param {boolean} alone */
export function placeInvitation(alone) {
  const form = one("[data-team]");
  if (find("[data-outcome] *", form)) return; // it is being read
  one("main [data-invite]").classList.remove("awaited");
  one("main [data-invite]").hidden = alone;
  one("[data-invite-here]").hidden = !alone;
  const place = one(alone ? "[data-invite-here]" : "#invite");
  if (!place.contains(form)) place.append(form); // moving it would lose the focus
}

on("click", "button[data-invite]", () => {
  one("dialog#invite").showModal();
  one("#team").focus();
});
on("click", "dialog button[data-close]", (button) => button.closest("dialog")?.close());

/** @typedef {{ email: string, error?: string, fields?: Record<string, string[]> }} Outcome */

on("submit", "form[data-team]", async (form, event) => {
  event.preventDefault();
  const button = one("button[type=submit]", form);
  if (button.ariaDisabled) return; // clicked twice
  const place = one("[data-outcome]", form);
  place.replaceChildren();
  const addresses = one("textarea", form);
  const [role, language] = all("select", form).map(({ value }) => value);
  const requests = emails(addresses.value).map((email) => ({ email, role, language }));
  if (!requests.length) return place.append(make("p", { textContent: say("This field is required.") }));
  /** @type {Outcome[]} */
  const outcomes = [];
  const error = await attempt(button, async () => {
    for (let from = 0; from < requests.length; from += MOST_AT_ONCE) {
      const invitations = requests.slice(from, from + MOST_AT_ONCE);
      /** @type {{ items: Outcome[] }} */
      const { items } = await call("POST", "/invitations", { invitations });
      outcomes.push(...items);
    }
  });
  const refused = outcomes.filter((outcome) => outcome.error);
  const count = outcomes.length - refused.length;
  const email = outcomes.find((outcome) => !outcome.error)?.email;
  const sent = say(count === 1 ? "invited" : "invited: several", { count, email });
  addresses.value = [...refused, ...requests.slice(outcomes.length)].map(({ email }) => email).join("\n");
  if (error) {
    for (const textContent of count ? [sent, problem(error)] : [problem(error)]) place.append(make("p", { textContent }));
  } else if (refused.length) {
    const text = say(count === 1 ? "invited: one, refused" : "invited: refused", { count, refused: refused.length });
    const list = make("ul", {});
    for (const item of refused) write(list.appendChild(make("li", {})), `${item.email}: ${reason(item)}`);
    place.append(make("p", { textContent: text }), list);
    addresses.focus();
  } else {
    form.closest("dialog")?.close();
    announce(sent);
  }
  tell(form, "done");
});

/** @param {Outcome} outcome */
const reason = ({ error = "", fields = {} }) => errorsIn(Object.values(fields).flat()) || translate(error);

/* ---- Bulk actions ---- */

/** @typedef {BulkAskedAct | "resend"} BulkAct */

/** @param {HTMLElement} section */
const picked = (section) =>
  listState(one("[data-list]", section)).whole ?? all("tr:has([data-pick]:checked)", section).map(rowOf);

/** @param {HTMLElement} section */
function drawBulk(section) {
  const bar = find("[data-bulk]", section);
  if (!bar) return;
  const rows = picked(section);
  const boxes = all("[data-pick]", section);
  bar.hidden = !rows.length;
  one("span", bar).textContent = say("selected", { count: rows.length });
  hide(all("button", bar), ({ dataset }) => !concerned(rows, dataset.bulkAct).length);
  const every = one("input[data-pick-all]", section);
  every.checked = boxes.length > 0 && rows.length >= boxes.length;
  every.indeterminate = rows.length > 0 && !every.checked;
  const { total } = listState(one("[data-list]", section));
  const whole = one("button[data-pick-whole]", bar);
  whole.textContent = say("select whole", { total });
  whole.hidden = !every.checked || rows.length >= total;
}

/** The rows on which one can act so, without the user's own. @param {Row[]} rows @param {string} [act] */
const concerned = (rows, act = "") => rows.filter(({ id, acts }) => id !== client.user?.id && acts.includes(act));

/** @type {Partial<Record<Act, Act>>} */
const UNDO = { "make admin": "make member", "make member": "make admin", deactivate: "activate" };

on("click", "button[data-bulk-act]", async (button) => {
  const act = /** @type {BulkAct} */ (button.dataset.bulkAct);
  const section = sectionOf(button);
  const rows = concerned(picked(section), act);
  if (act === "resend" || (await confirmed(button, ...question(act, rows)))) {
    const done = (/** @type {Row[]} */ rows) =>
      rows.length > 1 ? say(`${act}: done, several`, { count: rows.length }) : say(`${act}: done`, rows[0].item);
    await actOnAll(button, act, rows, done, UNDO[act]);
  }
});

/** @param {BulkAskedAct} act @param {Row[]} rows @returns {[string, string]} */
function question(act, rows) {
  if (rows.length === 1) return [say(`${act}: sure`, rows[0].item), say(`${act}: then`, rows[0].item)];
  const values = { count: rows.length };
  const names = listed(rows.map(({ name }) => name));
  return [say(`${act}: sure, several`, values), `${names}. ${say(`${act}: then, several`, values)}`];
}

/** The first names of many. @param {string[]} names */
const listed = (names) => [...names.slice(0, MOST_NAMED), ...(names.length > MOST_NAMED ? ["…"] : [])].join(", ");

/**
 * Act on these rows one after another, say what came of it, and offer to undo it.
 * @param {HTMLElement} button
 * @param {Act} act
 * @param {Row[]} rows
 * @param {(rows: Row[]) => string} done the text for the rows that it was done to
 * @param {Act} [undo]
 */
async function actOnAll(button, act, rows, done, undo) {
  /** @type {Map<string, string>} */
  const failures = new Map();
  const list = one("[data-list]", button.closest("section") ?? one("[data-tab=everyone]"));
  const error = await attempt(button, async () => {
    for (const row of rows) {
      try {
        await perform(act, row);
      } catch (error) {
        failures.set(row.id, `${row.name} (${problem(error).replace(/\.$/, "")})`);
      }
    }
    listState(list).picked = new Set(failures.keys());
    if (mayStay()) await loadAll();
  });
  if (error || !mayStay()) return;
  const changed = rows.filter(({ id }) => !failures.has(id));
  const names = listed([...failures.values()]);
  if (failures.size) announce(say("several: failed", { count: changed.length, names }), "bad");
  else announce(done(changed));
  if (undo && changed.length) {
    offer(say("undo"), (undoing) => actOnAll(undoing, undo, changed, () => say("undone")));
  }
  one("main h1").focus();
}

on("loaded", "[data-list]", (list) => {
  const state = listState(list);
  for (const row of rowElements(list)) {
    const box = find("input[data-pick]", row);
    if (!box) continue;
    box.checked = state.picked.has(rowOf(row).id);
    box.ariaLabel = say("select", rowOf(row).item);
  }
  state.picked = new Set();
  drawBulk(sectionOf(list));
});

on("click", "button[data-pick-whole]", async (button) => {
  const section = sectionOf(button);
  const list = one("[data-list]", section);
  const kind = /** @type {"person-row" | "invitation-row"} */ (list.dataset.row);
  await attempt(button, async () => {
    const query = queryOf(list);
    /** @type {(Person & Invitation)[]} */
    const items = await whole(list.dataset.list ?? "", query);
    if (String(Object.values(query)) !== String(Object.values(queryOf(list)))) return; // filtered meanwhile
    listState(list).whole = unite(items).map((item) => rowFor(kind, item));
  });
  drawBulk(section);
  find("[data-bulk-act]:not([hidden])", section)?.focus();
});

on("change", "input[data-pick-all]", (box) => {
  for (const other of all("input[data-pick]", sectionOf(box))) other.checked = box.checked;
});
on("change", "[data-pick], [data-pick-all]", (box) => {
  listState(one("[data-list]", sectionOf(box))).whole = null;
  drawBulk(sectionOf(box));
});

/* ---- Download ---- */

/**
 * A value for a spreadsheet: text that begins like a formula is quoted, also after a semicolon or tab, at which some
 * spreadsheets split. `quote_formula` in audit/admin.py does the same.
 * @param {unknown} value
 */
function cell(value) {
  const text = String(value ?? "").replace(/^(?=[\t\r])|(^|[;\t\r\n])(?=\s*[=+\-@])/g, "$1'");
  return `"${text.replaceAll('"', '""')}"`;
}

const BOM = "\ufeff"; // by which Excel knows UTF-8
const COLUMNS = ["email", "first_name", "last_name", "role", "status", "last_sign_in_at", "created_at"];
const EVENT_COLUMNS = ["at", "kind", "actor", "actor_name", "subject", "subject_name", "address", "via"];

/**
 * All items of a list.
 * @template Item
 * @param {string} path
 * @param {Record<string, string>} [query]
 */
async function whole(path, query = {}) {
  /** @type {Item[]} */
  const found = [];
  for (let page = 1; ; page += 1) {
    const pages = new URLSearchParams({ ...query, page: String(page), per_page: String(MOST) });
    /** @type {Page<Item>} */
    const { items, total = 0 } = await call("GET", `${path}?${pages}`);
    found.push(...items);
    if (!items.length || page * MOST >= total) return found;
  }
}

/**
 * Each item once: an item that is added while a list is read moves others to the next page.
 * @template {{ id: string }} Item
 * @param {Item[]} items
 */
const unite = (items) => [...new Map(items.map((item) => [item.id, item])).values()];

/** @param {string} name @param {string[]} columns @param {Values[]} rows */
function saveTable(name, columns, rows) {
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(","));
  download(name, "text/csv", BOM + [columns.join(","), ...lines].join("\r\n"));
}

/**
 * Save the events that the filters select, up to the newest one: later ones would move the pages. By the service's
 * clock, since the browser's may be wrong. @param {HTMLElement} list
 */
async function saveEvents(list) {
  /** @type {Page<AuditEvent>} */
  const { items } = await call("GET", "/audit?per_page=1");
  const newest = Date.parse(items[0]?.at ?? "") || 0;
  const query = { until: new Date(newest + 1).toISOString(), ...queryOf(list) };
  saveTable("activity.csv", EVENT_COLUMNS, await whole("/audit", query));
}

async function savePeople() {
  // In these orders no renaming moves anyone. A user who is erased meanwhile can still hide another.
  /** @type {Person[]} */
  const people = unite(await whole("/users", { sort: "id" }));
  /** @type {Invitation[]} */
  const invitations = unite(await whole("/invitations", { sort: "created_at" }));
  const { compare } = new Intl.Collator(LANGUAGE);
  const fullName = (/** @type {Person} */ person) => `${person.last_name}\t${person.first_name}`;
  people.sort((person, other) => compare(fullName(person), fullName(other)));
  saveTable("people.csv", COLUMNS, [
    ...people.map((person) => ({ ...person, status: person.is_active ? "active" : "deactivated" })),
    ...invitations.filter(({ status }) => status !== "accepted"),
  ]);
}

on("click", "button[data-csv]", (button) => {
  const events = find("#events", sectionOf(button));
  attempt(button, () => (events ? saveEvents(events) : savePeople()));
});
