/* Lists: a company's people, invitations and activity; a user's connected apps and devices. */

import { fillText } from "./forms.js";
import { call, client, signOut, whenShown } from "./navigation.js";
import { all, announce, attempt, confirmed, one, problem, say, withProgress } from "./screen.js";

const ABSENT = 90 * 24 * 60 * 60 * 1000; // milliseconds since the last sign-in
const USUAL_SIZE = 20; // of a page of a list
const PAUSE = 250; // milliseconds without a key before a search is asked
const day = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium" });

whenShown(async (main) => {
  for (const list of all("[data-list]", main)) readAddress(list);
  if (one("[data-list]", main)) await loadAll();
});

/* ---- The address remembers a list's filters, search, order, page and the page's size ---- */

const fieldsOf = (list) => all("[data-filter]", list.closest("section"));
const usual = (field) => field.options?.[0].value ?? "";
const named = (list, name) => (list.id === "people" ? name : `${list.id}.${name}`);

function readAddress(list) {
  const asked = new URLSearchParams(location.search);
  for (const field of fieldsOf(list)) {
    field.value = asked.get(named(list, field.dataset.filter)) ?? field.value; // which may be typed already
    field.value ||= usual(field);
  }
  list.dataset.page = Number(asked.get(named(list, "page"))) || 1;
}

function writeAddress(list) {
  const asked = new URLSearchParams(location.search);
  const set = (name, value) => (value ? asked.set(named(list, name), value) : asked.delete(named(list, name)));
  for (const field of fieldsOf(list)) set(field.dataset.filter, field.value === usual(field) ? "" : field.value);
  set("page", list.dataset.page === "1" ? "" : list.dataset.page);
  const query = String(asked);
  history.replaceState(null, "", location.pathname + (query && `?${query}`) + location.hash);
}

export const loadAll = () => Promise.all(all("[data-list]").map((list) => load(list)));

/* The query of a list's search field and filters. */
export function wanted(list) {
  const section = list.closest("section");
  const asked = {};
  for (const { dataset, value } of fieldsOf(list)) if (value.trim()) asked[dataset.filter] = value.trim();
  const { seen } = asked;
  delete asked.seen;
  if (seen) asked.signed_in = seen === "absent";
  if (seen === "absent") asked.not_signed_in_since = new Date(Date.now() - ABSENT).toISOString();
  if (asked.since) asked.since = midnight(asked.since);
  if (asked.until) asked.until = midnight(asked.until, 1);
  const person = one("[data-whom]", section)?.dataset.user;
  if (person) asked.user_id = person;
  return asked;
}

/* The begin of a day here, or of one some days later. */
function midnight(date, later = 0) {
  const [year, month, day] = date.split("-").map(Number);
  return new Date(year, month - 1, day + later).toISOString();
}

/* A page of a list, by default the one that is shown. */
export async function load(list, page = Number(list.dataset.page ?? 1)) {
  if (one("[data-whom][data-undecided]", list.closest("section"))) return;
  const mine = (list.dataset.asked = String(Math.random())); // a newer search overtakes this one
  const answer = await call("GET", `${list.dataset.list}?${new URLSearchParams({ ...wanted(list), page })}`);
  if (list.dataset.asked !== mine || !list.isConnected) return;
  if (page > 1 && !answer.items.length) return load(list, 1); // the page's last item was removed
  list.dataset.page = page;
  writeAddress(list);
  list.replaceChildren(...answer.items.map((item) => row(list.dataset.row, item)));
  drawPager(list, answer);
  list.dispatchEvent(new CustomEvent("loaded", { bubbles: true, detail: answer }));
}

/* No rows, until it is known whose are asked for. */
export function clearRows(list) {
  list.dataset.asked = ""; // no earlier question is answered any more
  list.replaceChildren();
  for (const part of all("table, .empty, .pager", list.closest("section"))) part.hidden = true;
}

/* The first page, by other filters: at once, since `load` ignores the answers to earlier ones. */
export function loadFirstPage(list) {
  announce("");
  const loading = withProgress(() => load(list, 1));
  const mine = list.dataset.asked;
  return loading.catch((error) => list.isConnected && list.dataset.asked === mine && announce(problem(error), "bad"));
}

function drawPager(list, { items, page, per_page: size, total = items.length }) {
  const section = list.closest("section");
  one("table", section).hidden = total === 0;
  one(".empty", section).hidden = total > 0;
  const pager = one(".pager", section);
  if (!pager) return; // not all lists come in pages
  pager.hidden = false;
  const [from, to] = [(page - 1) * size + 1, Math.min(page * size, total)];
  one("[data-range]", pager).textContent = total ? say("range", { from, to, total }) : "";
  one("nav", pager).hidden = total <= size;
  one("[data-filter=per_page]", pager).hidden = total <= USUAL_SIZE;
  const focused = document.activeElement;
  for (const button of all("[data-step]", pager)) {
    const next = page + Number(button.dataset.step);
    button.disabled = next < 1 || (next - 1) * size >= total;
    button.onclick = () => attempt(button, () => load(list, next));
  }
  if (pager.contains(focused) && focused.disabled) one("[data-step]:enabled", pager)?.focus();
}

/* ---- Rows ---- */

function row(template, item) {
  const made = document.getElementById(template).content.cloneNode(true);
  const facts = { ...item, ...standing(item) };
  const name = `${item.first_name ?? ""} ${item.last_name ?? ""}`.trim();
  facts.name = item.name || name || item.client_name || item.email || item.host || say(item.kind ?? "unknown browser");
  fillText(made, facts);
  all("[data-kind]", made).forEach((badge) => (badge.dataset.kind = facts.kind));
  all("[data-initials]", made).forEach((mark) => (mark.textContent = initialsOf(facts.name)));
  all("[data-you]", made).forEach((badge) => (badge.hidden = item.id !== client.user.id));
  all("[data-for]", made).forEach((act) => (act.hidden = !facts.acts.includes(act.dataset.for)));
  all("summary", made).forEach((menu) => (menu.ariaLabel = say("actions", facts)));
  made.firstElementChild.dataset.id = item.id;
  made.firstElementChild.facts = facts;
  return made;
}

/* A row's status: its word, its colour and the possible actions. */
function standing(item) {
  if ("at" in item) return { acts: [] };
  if ("current" in item) {
    const used = say("last used on", { date: day.format(new Date(item.used_at)) });
    const until = item.current ? `${say("this device")} · ${used}` : used;
    return { until, from: item.network && say("network", item), acts: ["forget"] };
  }
  if ("client_name" in item) {
    const until = say("last used on", { date: day.format(new Date(item.used_at)) });
    return { until, acts: ["end access"] };
  }
  if (item.expires_at) {
    const date = day.format(new Date(item.expires_at));
    if (item.status === "revoked") {
      return { kind: "inactive", standing: "revoked", until: date, acts: ["invite again"] };
    }
    const life = say(item.status === "expired" ? "expired on" : "open until", { date });
    const until = item.mail === "refused" ? say("mail refused") : life;
    return { kind: item.status, standing: item.status, until, acts: ["resend", "revoke"] };
  }
  if ("kind" in item) {
    const [made, used] = [item.created_at, item.last_used_at].map((at) => at && day.format(new Date(at)));
    const until = used ? say("last used on", { date: used }) : say("added on", { date: made });
    return { until, kind: item.name && say(item.kind), acts: ["rename", "remove"] };
  }
  const date = item.last_sign_in_at && day.format(new Date(item.last_sign_in_at));
  const until = date || say("never signed in");
  if (!item.is_active) return { kind: "inactive", standing: "deactivated", until, acts: ["history", "activate"] };
  const other = item.role === "admin" ? "make member" : "make admin";
  const colleague = item.id === client.user.id ? [] : ["mail password", "sign out", "reset factors"];
  const kept = item.role !== "admin" ? [] : [item.keeps_password ? "end password" : "keep password"];
  return { kind: "active", standing: "active", until, acts: [other, ...kept, "history", ...colleague, "deactivate"] };
}

const graphemes = new Intl.Segmenter(document.documentElement.lang);

/* Of whole characters: an emoji has several code units. */
export function initialsOf(name) {
  const parts = name.split(/[\s@.]+/).filter(Boolean);
  const [first, second] = (parts.length > 1 ? [parts[0], parts.at(-1)] : [name]).map((part) =>
    [...graphemes.segment(part)].map(({ segment }) => segment),
  );
  return (first[0] + (second?.[0] ?? first[1] ?? "")).toUpperCase();
}

/* ---- Actions on rows ---- */

export const ACTS = {
  "make admin": { call: (id) => ["PATCH", `/users/${id}`, { role: "admin" }], ask: true },
  "make member": { call: (id) => ["PATCH", `/users/${id}`, { role: "member" }], ask: true },
  deactivate: { call: (id) => ["PATCH", `/users/${id}`, { is_active: false }], ask: true },
  activate: { call: (id) => ["PATCH", `/users/${id}`, { is_active: true }] },
  "keep password": { call: (id) => ["PATCH", `/users/${id}`, { keeps_password: true }] },
  "end password": { call: (id) => ["PATCH", `/users/${id}`, { keeps_password: false }] },
  "mail password": { call: (id) => ["POST", `/users/${id}/password-change`] },
  "sign out": { call: (id) => ["POST", `/users/${id}/sign-out`], ask: true },
  "reset factors": { call: (id) => ["DELETE", `/users/${id}/factors`], ask: true },
  resend: { call: (id) => ["POST", `/invitations/${id}/resend`] },
  "invite again": {
    call: (_, { email, role, consultant_id }) => ["POST", "/invitations", { email, role, consultant_id }],
  },
  forget: { call: (id) => ["DELETE", `/auth/devices/${id}`], ask: true },
  "end access": { call: (id) => ["DELETE", `/auth/grants/${id}`], ask: true },
  revoke: { call: (id) => ["DELETE", `/invitations/${id}`], ask: true },
};

async function act(button) {
  const menu = button.closest("details");
  const { facts } = button.closest("tr");
  const { call: of, ask, open } = ACTS[button.dataset.for];
  menu.open = false;
  one("summary", menu).focus();
  if (open) return open(facts);
  if (ask && !(await confirmed(button, ...question(button, facts)))) return;
  const error = await attempt(one("summary", menu), () => change(facts, of(facts.id, facts)));
  if (error?.body?.fields?.password) {
    const [method, path, body] = of(facts.id, facts);
    const { proveFirst } = await import("./factors.js"); // which imports this module
    const work = (proof) => change(facts, [method, path, { ...body, ...proof }]);
    return proveFirst(button.textContent, work, say(`${button.dataset.for}: done`, facts));
  }
  if (error || !mayStay()) return; // former admins are redirected
  announce(say(`${button.dataset.for}: done`, facts));
  const again = one(`tr[data-id="${facts.id}"] summary`) ?? one("main h1");
  again.focus();
}

export const mayStay = () => client.user && [client.user.role, ""].includes(one("[data-members]")?.dataset.members);

function question(button, facts) {
  const self = facts.id === client.user.id ? ", yourself" : "";
  const name = `${button.dataset.for}: `;
  return [say(`${name}sure${self}`, facts), say(`${name}then${self}`, facts)];
}

/* Make a call about a user, possibly the signed-in one. */
export async function perform(facts, request) {
  const answer = await call(...request);
  if (facts.id === client.user.id) {
    if (answer.is_active) client.update({ ...client.user, role: answer.role });
    else await signOut();
  }
}

async function change(facts, request) {
  await perform(facts, request);
  if (mayStay()) await loadAll();
}

/* ---- Events ---- */

document.addEventListener("click", ({ target }) => {
  for (const menu of all("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
  const button = target.closest(".menu button");
  if (button) act(button);
});

document.addEventListener("keydown", ({ key, target }) => {
  const menu = key === "Escape" && target.closest("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  one("summary", menu).focus();
});

document.addEventListener("done", loadAll);

let typing;
document.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-search]")) return;
  clearTimeout(typing);
  typing = setTimeout(applyFilter, PAUSE, target);
});

const applyFilter = (field) => loadFirstPage(one("[data-list]", field.closest("section")));

document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-filter]:not([data-search])")) applyFilter(target);
});
