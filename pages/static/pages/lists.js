/* Lists: a company's people, its invitations, what has happened; somebody's assistants. */

import { fillText } from "./forms.js";
import { call, client, signOut, whenShown } from "./navigation.js";
import { all, announce, attempt, confirmed, one, say } from "./screen.js";

const PAUSE = 250; // milliseconds without a key before a search is asked
const day = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

whenShown(async (main) => {
  if (one("[data-list]", main)) await loadAll();
});

const loadAll = () => Promise.all(all("[data-list]").map((list) => load(list)));

/* A page of a list; the first one takes the place of what is shown. */
export async function load(list, page = 1) {
  const [path, query] = list.dataset.list.split("?");
  const asked = new URLSearchParams(query);
  asked.set("page", page);
  if (list.dataset.search) asked.set("search", list.dataset.search);
  const mine = (list.dataset.asked = String(Math.random())); // a newer search overtakes this one
  const answer = await call("GET", `${path}?${asked}`);
  if (list.dataset.asked !== mine) return;
  if (page === 1) list.replaceChildren();
  list.append(...answer.items.map((item) => row(list.dataset.row, item)));
  list.dataset.total = answer.total ?? answer.items.length; // not all lists come in pages
  showMore(list, page, page * answer.per_page < answer.total);
  list.dispatchEvent(new CustomEvent("loaded", { bubbles: true, detail: answer }));
}

function showMore(list, page, more) {
  const section = list.closest("section");
  const lists = all("[data-list]", section);
  const total = lists.reduce((sum, { dataset }) => sum + Number(dataset.total ?? 0), 0);
  one("table", section).hidden = total === 0;
  one(".empty", section).hidden = total > 0;
  one("[data-count]", section).textContent = total || "";
  const button = one(`[data-more="${list.id}"]`, section);
  if (!button) return;
  button.hidden = !more;
  button.onclick = () => attempt(button, () => load(list, page + 1));
}

/* ---- Rows ---- */

function row(template, item) {
  const made = document.getElementById(template).content.cloneNode(true);
  const facts = { ...item, ...standing(item) };
  const name = `${item.first_name ?? ""} ${item.last_name ?? ""}`.trim();
  facts.name = item.name || name || item.client_name || item.email || item.host || say(item.kind);
  fillText(made, facts);
  all("[data-kind]", made).forEach((badge) => (badge.dataset.kind = facts.kind));
  all("[data-initials]", made).forEach((mark) => initials(mark, facts.name));
  all("[data-you]", made).forEach((badge) => (badge.hidden = item.id !== client.user.id));
  all("[data-for]", made).forEach((act) => (act.hidden = !facts.acts.includes(act.dataset.for)));
  all("summary", made).forEach((menu) => (menu.ariaLabel = say("actions", facts)));
  made.firstElementChild.dataset.id = item.id;
  made.firstElementChild.facts = facts;
  return made;
}

/* How somebody stands: its word, its colour, and what can be done about it. */
function standing(item) {
  if ("at" in item) return { until: moment.format(new Date(item.at)), acts: [] };
  if ("client_name" in item) {
    const until = say("last used on", { date: day.format(new Date(item.used_at)) });
    return { until, acts: ["end access"] };
  }
  if (item.expires_at) {
    const date = day.format(new Date(item.expires_at));
    if (item.status === "revoked") {
      return { kind: "inactive", standing: "revoked", until: "", acts: ["invite again"] };
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
  const until = date ? say("last signed in on", { date }) : "";
  if (!item.is_active) return { kind: "inactive", standing: "deactivated", until, acts: ["history", "activate"] };
  const other = item.role === "admin" ? "make member" : "make admin";
  const colleague = item.id === client.user.id ? [] : ["mail password", "sign out", "reset factors"];
  return { kind: "active", standing: "active", until, acts: [other, "history", ...colleague, "deactivate"] };
}

function initials(mark, name) {
  const parts = name.split(/[\s@.]+/).filter(Boolean);
  const letters = parts.length > 1 ? parts[0][0] + parts.at(-1)[0] : name.slice(0, 2);
  mark.textContent = letters.toUpperCase();
}

/* ---- What can be done about somebody or something ---- */

export const ACTS = {
  "make admin": { call: (id) => ["PATCH", `/users/${id}`, { role: "admin" }], ask: true },
  "make member": { call: (id) => ["PATCH", `/users/${id}`, { role: "member" }], ask: true },
  deactivate: { call: (id) => ["PATCH", `/users/${id}`, { is_active: false }], ask: true },
  activate: { call: (id) => ["PATCH", `/users/${id}`, { is_active: true }] },
  "mail password": { call: (id) => ["POST", `/users/${id}/password-change`] },
  "sign out": { call: (id) => ["POST", `/users/${id}/sign-out`], ask: true },
  "reset factors": { call: (id) => ["DELETE", `/users/${id}/factors`], ask: true },
  resend: { call: (id) => ["POST", `/invitations/${id}/resend`] },
  "invite again": {
    call: (_, { email, role, consultant_id }) => ["POST", "/invitations", { email, role, consultant_id }],
  },
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
  if (error || !mayStay()) return; // who is no admin any more is led away
  announce(say(`${button.dataset.for}: done`, facts));
  const again = one(`tr[data-id="${facts.id}"] summary`) ?? one("main h1");
  again.focus();
}

const mayStay = () => client.user && [client.user.role, ""].includes(one("[data-members]").dataset.members);

function question(button, facts) {
  const self = facts.id === client.user.id ? ", yourself" : "";
  const name = `${button.dataset.for}: `;
  return [say(`${name}sure${self}`, facts), say(`${name}then${self}`, facts)];
}

async function change(facts, request) {
  const answer = await call(...request);
  if (facts.id === client.user.id) {
    if (answer.is_active) client.update({ ...client.user, role: answer.role });
    else await signOut();
  }
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
  typing = setTimeout(() => search(target), PAUSE);
});

function search(field) {
  const lists = field.getAttribute("aria-controls").split(" ").map((id) => document.getElementById(id));
  for (const list of lists) list.dataset.search = field.value.trim();
  return attempt(lists[0], () => Promise.all(lists.map((list) => load(list))));
}
