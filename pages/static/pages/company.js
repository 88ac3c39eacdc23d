/* The people page: the company's figures, the only admin, who cannot be removed, and the activity in
sentences. */

import { fillText } from "./forms.js";
import { ACTS, clearRows, loadFirstPage } from "./lists.js";
import { call } from "./navigation.js";
import { placeInvitation } from "./people.js";
import { all, announce, attempt, one, problem, say, write } from "./screen.js";

/* ---- Figures ---- */

let admins = Infinity; // who are active, as far as is known

async function overview() {
  const place = one("[data-overview]");
  if (!place) return;
  const figures = await call("GET", "/pages/overview");
  fillText(place, figures);
  for (const item of all("li", place)) item.hidden = one("strong", item).textContent === "0";
  place.classList.remove("awaited");
  placeInvitation(figures.people + figures.invitations < 2);
  admins = figures.admins;
  spareOnlyAdmin();
}

/* Actions that would leave the company without an admin are not offered. */
function spareOnlyAdmin() {
  for (const row of all("#people tr[data-id]")) {
    if (row.facts.role !== "admin" || !row.facts.is_active) continue;
    for (const name of ["make member", "deactivate"]) {
      one(`[data-for="${name}"]`, row).hidden = admins < 2;
    }
  }
}

document.addEventListener("loaded", ({ target }) => {
  if (target.id !== "people") return;
  spareOnlyAdmin();
  overview().catch(() => {}); // the list shows the error
});

/* ---- Activity ---- */

const SIGN_INS = ["login.succeeded", "signup.completed", "invitation.accepted"];
const SAME_CALL = 2000; // milliseconds
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
const STEPS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12], ["year", Infinity]];

/* How long ago, in the largest unit that fits. */
function ago(at) {
  let past = (at - Date.now()) / 1000;
  for (const [unit, next] of STEPS) {
    if (Math.abs(past) < next) return relative.format(Math.trunc(past), unit);
    past /= next;
  }
}

/* An event's sentence: for its detail, for what users do to themselves, or else for its kind. */
function sentence({ kind, actor, subject, detail }) {
  const own = !actor || actor === subject ? "self" : "";
  const variants = [detail.role ?? detail.second_factor, own].filter(Boolean);
  const { content } = document.getElementById("sentences");
  const found = [...variants.map((variant) => `${kind}:${variant}`), kind];
  return found.map((name) => one(`[data-kind="${name}"]`, content)).find(Boolean)?.textContent ?? kind;
}

/* Write an event into its row, with names in bold. */
function tellEvent(row, event) {
  const values = { ...event.detail, actor: event.actor_name || event.actor || say("support") };
  values.subject = event.subject_name || event.subject;
  values.app = event.detail.claims?.client || event.detail.host;
  values.factor = say(event.detail.factor);
  const cell = one("[data-sentence]", row);
  sentence(event).split(/\{(\w+)\}/).forEach((part, n) => {
    const name = document.createElement("strong");
    write(name, values[part] ?? "");
    cell.append(n % 2 ? name : part);
  });
  if (event.via) cell.append(" ", say("via", values));
  const time = one("time", row);
  const at = new Date(event.at);
  time.textContent = ago(at);
  time.dateTime = event.at;
  time.title = at.toLocaleString(document.documentElement.lang, { dateStyle: "full", timeStyle: "medium" });
}

document.addEventListener("loaded", ({ target, detail }) => {
  if (target.id !== "events") return;
  const { items } = detail;
  const rows = [...target.rows];
  items.forEach((event, n) => tellEvent(rows[n], event));
  items.forEach((event, n) => {
    const signIn = items.findIndex((other) => isSignInOf(event, other));
    if (event.kind !== "device.known" || signIn < 0) return;
    one("[data-sentence]", rows[signIn]).append(" ", say("new device"));
    rows[n].remove();
  });
});

/* A device becomes known in the same call as its sign-in. */
function isSignInOf(device, { kind, actor, subject, at }) {
  const near = Math.abs(new Date(device.at) - new Date(at)) < SAME_CALL;
  return SIGN_INS.includes(kind) && [actor, subject].includes(device.actor) && near;
}

ACTS.history = {
  async open(facts) {
    await showEventsOf(facts);
    one("[data-tab=activity] h2")?.focus(); // the menu's tab is hidden
  },
};

/* The activity of one person; without facts, of all. */
async function showEventsOf(facts) {
  const field = one("[data-whom]");
  field.value = facts ? describePerson(facts) : "";
  field.dataset.user = facts?.id ?? "";
  delete field.dataset.undecided;
  one("[data-candidates]").hidden = true;
  location.hash = "#activity";
  await loadFirstPage(one("#events"));
}

const describePerson = ({ first_name, last_name, email }) => `${first_name} ${last_name} · ${email}`.replace(/^[ ·]+/, "");

/* The person whose name or e-mail address was typed; of several, the one that is then chosen. */
async function choosePerson(field) {
  const search = field.value.trim();
  if (!search) return showEventsOf(null);
  field.dataset.undecided = "";
  clearRows(one("#events"));
  const { items, total } = await call("GET", `/users?${new URLSearchParams({ search, per_page: 20 })}`);
  if (!field.isConnected || field.value.trim() !== search) return; // overtaken
  // A search for anna@… also finds joanna@….
  const found = items.find(({ email }) => email.toLowerCase() === search.toLowerCase());
  if (found || total === 1) return showEventsOf(found ?? items[0]);
  announce(say(total ? "several found" : "nobody found", { count: total }), total ? "wait" : "bad");
  const place = one("[data-candidates]");
  place.hidden = !total;
  place.replaceChildren(...items.map(makeCandidate));
  one("button", place)?.focus();
}

function makeCandidate(facts) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "plain" });
  button.addEventListener("click", async () => {
    await attempt(button, () => showEventsOf(facts));
    one("[data-whom]").focus();
  });
  write(button, describePerson(facts));
  return button;
}

document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-whom]")) choosePerson(target).catch((error) => target.isConnected && announce(problem(error), "bad"));
});
document.addEventListener("input", async ({ target }) => {
  if (!target.matches("[data-whom]") || target.value.length < 2) return;
  const path = `/users?${new URLSearchParams({ search: target.value, per_page: 8 })}`;
  const { items } = await call("GET", path).catch(() => ({ items: [] })); // choosing says what is wrong
  one("#whom").replaceChildren(...items.map((item) => new Option(`${item.first_name} ${item.last_name}`, item.email)));
});
