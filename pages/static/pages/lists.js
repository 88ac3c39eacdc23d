// @ts-check
/* Lists: a company's people, invitations and activity; a user's connected apps and devices. */

/** @import { Call, ChangedPerson, Items, Page, Values, Way } from "./types.js" */
import { call, client, signOut, whenShown } from "./navigation.js";
import {
  all, announce, announceProblem, attempt, confirmed, fillText, find, formatDay, formatMinute, fromTemplate, hide,
  nameOf, on, one, say, tell, translate, withProgress,
} from "./screen.js";

const USUAL_SIZE = 20; // of a page of a list
const PAUSE = 250; // milliseconds without a key before a search is asked

/** @typedef {HTMLElement} List the <tbody> with `data-list` */

/**
 * `turn` counts the requests, so that a newer search overtakes an earlier one; `isStale` until the list is loaded;
 * `userId` is the user whose activity is shown; `isPaused` while it is not known whose; `picked` are the ids of the rows
 * that stay picked; `whole` are the rows of all pages, once all are picked.
 */
const newState = () => ({
  page: 1, total: 0, turn: 0, isStale: true, userId: "", isPaused: false, picked: new Set(),
  whole: /** @type {Row[] | null} */ (null),
});
/** @type {WeakMap<List, ReturnType<typeof newState>>} */
const states = new WeakMap();
/** @param {List} list */
export function listState(list) {
  const state = states.get(list) ?? newState();
  states.set(list, state);
  return state;
}

whenShown(async (main) => {
  for (const list of all("[data-list]", main)) readAddress(list);
  if (!find("[data-tab]", main)) await loadAll(); // else as soon as a tab is chosen
});

/* ---- The address remembers a list's filters, search, order, page and the page's size ---- */

/** @param {Element} part of a tab @returns {HTMLElement} */
export const sectionOf = (part) => /** @type {HTMLElement} */ (part.closest("section"));
/** @param {List} list */
export const filtersOf = (list) => all("input[data-filter], select[data-filter]", sectionOf(list));
/** @param {ReturnType<typeof filtersOf>[number]} field */
export const usual = (field) => (field instanceof HTMLSelectElement ? field.options[0].value : "");
/** @param {List} list */
const named = (list, name = "") => (list.id === "people" ? name : `${list.id}.${name}`);

/** @param {List} list */
function readAddress(list) {
  const query = new URLSearchParams(location.search);
  for (const field of filtersOf(list)) {
    field.value = query.get(named(list, field.dataset.filter)) ?? field.value; // which may be typed already
    field.value ||= usual(field);
  }
  listState(list).page = Number(query.get(named(list, "page"))) || 1;
}

/** @param {List} list */
function writeAddress(list) {
  const query = new URLSearchParams(location.search);
  const set = (name = "", value = "") =>
    value ? query.set(named(list, name), value) : query.delete(named(list, name));
  for (const field of filtersOf(list)) set(field.dataset.filter, field.value === usual(field) ? "" : field.value);
  const { page } = listState(list);
  set("page", page === 1 ? "" : String(page));
  const search = String(query);
  history.replaceState(null, "", location.pathname + (search && `?${search}`) + location.hash);
}

/** Load all lists anew: now, or when their tab is opened. */
export function loadAll() {
  for (const list of all("[data-list]")) listState(list).isStale = true;
  return loadShown();
}

/** Load the lists that are shown and not loaded. */
export function loadShown() {
  const lists = all("[data-list]").filter((list) => listState(list).isStale && !list.closest("[data-tab][hidden]"));
  return Promise.all(lists.map((list) => load(list)));
}

/** The query of a list's search field and filters. @param {List} list */
export function queryOf(list) {
  const filters = filtersOf(list);
  const { seen, ...query } = /** @type {Record<string, string>} */ (
    Object.fromEntries(filters.map(({ dataset, value }) => [dataset.filter, value.trim()]).filter(([, value]) => value))
  );
  if (seen) query.signed_in = String(seen !== "never");
  if (seen === "absent") query.not_signed_in_since = one("option[data-since]", sectionOf(list)).dataset.since ?? "";
  if (query.since) query.since = midnight(query.since);
  if (query.until) query.until = midnight(query.until, 1);
  const { userId } = listState(list);
  return userId ? { ...query, user_id: userId } : query;
}

/** The begin of a day here, or of one some days later. @param {string} date */
function midnight(date, later = 0) {
  const [year, month, day] = date.split("-").map(Number);
  return new Date(year, month - 1, day + later).toISOString();
}

/** Load a page of a list, by default the one that is shown. @param {List} list @returns {Promise<void>} */
export async function load(list, page = listState(list).page) {
  const state = listState(list);
  if (state.isPaused) return;
  const turn = ++state.turn;
  state.isStale = false;
  const path = list.dataset.list ?? "";
  const query = new URLSearchParams({ ...queryOf(list), page: String(page) });
  /** @type {Promise<Page<Items[keyof Items]>>} */
  const request = call("GET", path + (path.includes("?") ? "&" : "?") + query);
  request.catch(() => (state.isStale = true));
  const answer = await request;
  if (state.turn !== turn || !list.isConnected) return;
  if (page > 1 && !answer.items.length) return load(list, 1); // the page's last item was removed
  Object.assign(state, { page, total: answer.total ?? 0, whole: null });
  writeAddress(list);
  const kind = /** @type {keyof Items} */ (list.dataset.row);
  list.replaceChildren(...answer.items.map((item) => makeRow(kind, item)));
  drawPager(list, answer);
  tell(list, "loaded", answer);
}

/** Show no rows, until it is known whose are asked for. @param {List} list */
export function pauseList(list) {
  const state = listState(list);
  state.isPaused = true;
  state.turn += 1; // no earlier question is answered any more
  list.replaceChildren();
  hide(all("table, .empty, .pager", sectionOf(list)), () => true);
}

/** Load the first page, by other filters: at once, since `load` ignores the answers to earlier ones. @param {List} list */
export async function loadFirstPage(list) {
  announce("");
  const loading = withProgress(() => load(list, 1));
  const { turn } = listState(list);
  await loading.catch((error) => list.isConnected && listState(list).turn === turn && announceProblem(error));
}

/** @param {List} list @param {Page<unknown>} answer */
function drawPager(list, { items, page, per_page: size, total = items.length }) {
  const section = sectionOf(list);
  one("table", section).hidden = total === 0;
  one(".empty", section).hidden = total > 0;
  const pager = find(".pager", section);
  if (!pager) return; // not all lists come in pages
  pager.hidden = false;
  const [from, to] = [(page - 1) * size + 1, Math.min(page * size, total)];
  one("[data-range]", pager).textContent = total ? say("range", { from, to, total }) : "";
  one("nav", pager).hidden = total <= size;
  one("[data-filter=per_page]", pager).hidden = total <= USUAL_SIZE;
  const focused = document.activeElement;
  for (const button of all("button[data-step]", pager)) {
    const next = page + Number(button.dataset.step);
    button.disabled = next < 1 || (next - 1) * size >= total;
    button.onclick = () => attempt(button, () => load(list, next));
  }
  if (focused?.matches("[data-step]:disabled") && pager.contains(focused)) find("[data-step]:enabled", pager)?.focus();
}

/* ---- Rows ---- */

/**
 * What a kind of row shows: its name, the texts of its elements with `data-text`, the colour of its badge and the
 * possible acts.
 * @typedef {{ name: string, texts?: Values, colour?: string, acts: string[] }} Description
 */

/** @type {{ [Kind in keyof Items]: (item: Items[Kind]) => Description }} */
const ROWS = {
  "person-row": (person) => ({
    name: nameOf(person),
    colour: person.is_active ? "active" : "inactive",
    texts: {
      role: say(person.role),
      standing: say(person.is_active ? "active" : "deactivated"),
      until: person.last_sign_in_at ? formatDay(person.last_sign_in_at) : say("never signed in"),
    },
    acts: person.is_active ? actsOn(person) : ["history", "activate"],
  }),
  "invitation-row"({ email, role, status, mail, expires_at }) {
    const date = formatDay(expires_at);
    const texts = { role: say(role), standing: status === "accepted" ? status : say(status), until: date };
    if (status === "revoked") return { name: email, texts, colour: "inactive", acts: ["invite again"] };
    const life = say(status === "expired" ? "expired on" : "open until", { date });
    texts.until = mail === "refused" ? say("mail refused") : life;
    return { name: email, texts, colour: status, acts: ["resend", "revoke"] };
  },
  "event-row": ({ kind }) => ({ name: kind, acts: [] }),
  "device-row"({ name, used_at, current, network }) {
    const used = say("last used on", { date: formatDay(used_at) });
    const until = current ? `${say("this device")} · ${used}` : used;
    const texts = { until, from: network && say("network", { network }) };
    return { name: name || say("unknown browser"), texts, acts: ["forget"] };
  },
  "sign-in-row"({ at, browser, system, network, way }) {
    const name = browser && system ? say("browser on system", { browser, system }) : browser || say("unknown browser");
    const from = network && say("network", { network });
    const texts = { when: formatMinute(at), way: [say(`way: ${/** @type {Way} */ (way)}`), from].filter(Boolean).join(" · ") };
    return { name, texts, acts: [] };
  },
  "assistant-row": ({ client_name, host, used_at }) => ({
    name: client_name || host,
    texts: { until: say("last used on", { date: formatDay(used_at) }) },
    acts: ["end access"],
  }),
  "factor-row"({ kind, name, created_at, last_used_at: used }) {
    const until = used ? say("last used on", { date: formatDay(used) }) : say("added on", { date: formatDay(created_at) });
    return { name: name || say(kind), texts: { until, kind: name && say(kind) }, acts: ["rename", "remove"] };
  },
  "directory-row"(key) {
    const { last_used_at: used, last_problem: problem, last_problem_at: at } = key;
    const isCode = /^\d{3}/.test(problem); // such as "400 invalidFilter", of a request against RFC 7644
    const advice = isCode
      ? say("provisioning: request", { code: problem })
      : problem.split(": ").map((part) => translate(part)).join(": "); // an attribute's name comes first
    const texts = {
      call: used ? formatMinute(used) : say("never used"),
      problem: at ? `${formatMinute(at)}: ${advice}` : used && say("no problem"),
    };
    const { texts: own, ...row } = ROWS["key-row"](key);
    return { ...row, texts: { ...own, ...texts }, acts: row.acts.map(() => "revoke directory key") };
  },
  "key-row"({ name, scopes, created_by, created_by_name, expires_at, last_used_at: used, revoked_at: revoked }) {
    const isLive = !revoked && new Date(expires_at) > new Date();
    const end = revoked ? "revoked on" : isLive ? "open until" : "expired on";
    const texts = {
      scopes: scopes.map((scope) => translate(scope)).join(", "),
      used: used ? say("last used on", { date: formatDay(used) }) : say("never used"),
      maker: created_by ? created_by_name : say("former user"),
      until: say(end, { date: formatDay(revoked ?? expires_at) }),
    };
    return { name, texts, acts: isLive ? ["revoke key"] : [] };
  },
};

/** @param {Items["person-row"]} person who is active */
function actsOn({ id, role, keeps_password }) {
  const other = role === "admin" ? "make member" : "make admin";
  const password = role === "admin" ? [keeps_password ? "end password" : "keep password"] : [];
  const colleague = id === client.user?.id ? [] : ["mail password", "sign out", "reset factors"];
  return [other, ...password, "history", ...colleague, "deactivate"];
}

/** @typedef {Description & { id: string, item: Items[keyof Items] & { name: string } }} Row */

/** @type {WeakMap<HTMLTableRowElement, Row>} */
const rows = new WeakMap();
/** @param {HTMLTableRowElement} element */
export const rowOf = (element) => /** @type {Row} */ (rows.get(element));
/** @param {ParentNode} root */
export const rowElements = (root) => all("tr[data-id]", root);

/** @template {keyof Items} Kind @param {Kind} kind @param {Items[Kind]} item @returns {Row} */
export function rowFor(kind, item) {
  const description = ROWS[kind](item);
  return { ...description, id: "id" in item ? item.id : "", item: { ...item, name: description.name } };
}

/** @template {keyof Items} Kind @param {Kind} kind @param {Items[Kind]} item */
function makeRow(kind, item) {
  const row = /** @type {HTMLTableRowElement} */ (fromTemplate(kind));
  const facts = rowFor(kind, item);
  const { id, name, texts, colour, acts } = facts;
  rows.set(row, facts);
  fillText(row, { ...item, name, ...texts });
  for (const badge of all("[data-kind]", row)) badge.dataset.kind = colour;
  for (const mark of all("[data-initials]", row)) mark.textContent = initialsOf(name);
  for (const menu of all("summary", row)) menu.ariaLabel = say("actions", { name });
  hide(all(".menu", row), () => !acts.length);
  hide(all("[data-you]", row), () => id !== client.user?.id);
  hide(all("[data-if]", row), ({ dataset }) => !(/** @type {Values} */ (item)[dataset.if ?? ""]));
  hide(all("[data-for]", row), ({ dataset }) => !acts.includes(dataset.for ?? ""));
  row.dataset.id = id;
  return row;
}

/** The first letters of a name's first and last part, or the first two of its only part. @param {string} name */
function initialsOf(name) {
  const parts = name.split(/[\s@.]+/).filter(Boolean).map((part) => [...part]);
  const [first, second] = parts.length > 1 ? [parts[0][0], parts[parts.length - 1][0]] : [...name];
  return (first + (second ?? "")).toUpperCase();
}

/* ---- Acts on rows ---- */

/** @typedef {"make admin" | "make member" | "deactivate" | "revoke"} BulkAskedAct of several rows, after a question */
/** @typedef {"sign out" | "reset factors" | "forget" | "end access" | "remove" | "revoke key" | "revoke directory key"} SingleAskedAct */
/** @typedef {BulkAskedAct | SingleAskedAct} AskedAct after a question */
/** @typedef {"activate" | "keep password" | "end password" | "mail password" | "resend" | "invite again"} DirectAct */
/** @typedef {AskedAct | DirectAct} Act those of `REQUESTS`; the scripts of other acts listen to the event "act" */

/** @type {Record<Act, (id: string, item: Items[keyof Items]) => Call>} */
const REQUESTS = {
  "make admin": (id) => ["PATCH", `/users/${id}`, { role: "admin" }],
  "make member": (id) => ["PATCH", `/users/${id}`, { role: "member" }],
  deactivate: (id) => ["PATCH", `/users/${id}`, { is_active: false }],
  activate: (id) => ["PATCH", `/users/${id}`, { is_active: true }],
  "keep password": (id) => ["PATCH", `/users/${id}`, { keeps_password: true }],
  "end password": (id) => ["PATCH", `/users/${id}`, { keeps_password: false }],
  "mail password": (id) => ["POST", `/users/${id}/password-change`],
  "sign out": (id) => ["POST", `/users/${id}/sign-out`],
  "reset factors": (id) => ["DELETE", `/users/${id}/factors`],
  resend: (id) => ["POST", `/invitations/${id}/resend`],
  "invite again"(_, item) {
    const { email, role, consultant_id } = /** @type {Items["invitation-row"]} */ (item);
    return ["POST", "/invitations", { email, role, consultant_id }];
  },
  forget: (id) => ["DELETE", `/auth/devices/${id}`],
  "end access": (id) => ["DELETE", `/auth/grants/${id}`],
  remove: (id) => ["POST", `/auth/factors/${id}/remove`],
  revoke: (id) => ["DELETE", `/invitations/${id}`],
  "revoke key": (id) => ["DELETE", `/account/api-keys/${id}`],
  "revoke directory key": (id) => ["DELETE", `/account/api-keys/${id}`],
};
const DIRECT = ["activate", "keep password", "end password", "mail password", "resend", "invite again"];

/** @param {Act} act @returns {act is DirectAct} */
const isDirect = (act) => DIRECT.includes(act);

document.addEventListener("click", ({ target }) => {
  for (const menu of all("details.menu[open]")) if (!menu.contains(/** @type {Node} */ (target))) menu.open = false;
});

on("click", ".menu button[data-for]", async (button) => {
  const menu = /** @type {HTMLDetailsElement} */ (button.closest("details"));
  const summary = one("summary", menu);
  const row = rowOf(/** @type {HTMLTableRowElement} */ (button.closest("tr")));
  const act = /** @type {Act} */ (button.dataset.for);
  menu.open = false;
  summary.focus();
  if (!(act in REQUESTS)) return tell(menu, "act", { act, row });
  if (!isDirect(act) && !(await confirmed(button, ...question(act, row)))) return;
  const error = await attempt(summary, async () => {
    await perform(act, row);
    if (mayStay()) await loadAll(); // former admins are redirected
  });
  if (error || !mayStay()) return;
  announce(say(`${act}: done`, row.item));
  (find(`tr[data-id="${row.id}"] .menu:not([hidden]) > summary`) ?? one("main h1")).focus();
});

export function mayStay() {
  const role = find("[data-members]")?.dataset.members ?? null;
  return client.user && (role === "" || role === client.user.role);
}

/** @param {AskedAct} act @param {Row} row @returns {[string, string]} */
function question(act, { id, item }) {
  if (id === client.user?.id && (act === "make member" || act === "deactivate")) {
    return [say(`${act}: sure, yourself`), say(`${act}: then, yourself`)];
  }
  return [say(`${act}: sure`, item), say(`${act}: then`, item)];
}

/**
 * Make the call of an act on a row, possibly about the signed-in user.
 * @param {Act} act
 * @param {Row} row
 */
export async function perform(act, { id, item }) {
  const [method, path, body] = REQUESTS[act](id, item);
  /** @type {ChangedPerson | null} */
  const answer = await call(method, path, body);
  if (!client.user || id !== client.user.id) return;
  if (answer?.is_active) client.update({ ...client.user, role: answer.role });
  else await signOut();
}

/* ---- Events ---- */

on("keydown", "details.menu[open]", (menu, { key }) => {
  if (key !== "Escape") return;
  menu.open = false;
  one("summary", menu).focus();
});

document.addEventListener("done", loadAll);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;
on("input", "[data-search]", (field) => {
  clearTimeout(typing);
  typing = setTimeout(applyFilter, PAUSE, field);
});

/** @param {HTMLElement} field */
const applyFilter = (field) => loadFirstPage(one("[data-list]", sectionOf(field)));
on("change", "[data-filter]:not([data-search])", applyFilter);
