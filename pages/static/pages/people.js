/* The people page beside its lists: a team invited at once, filters, a download, the company's name. */

import { call, whenShown } from "./navigation.js";
import { all, announce, attempt, one, say } from "./screen.js";

const MOST = 100; // of a page of a list

export function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/* ---- A team ---- */

/* The emails in a pasted list: lines, commas, semicolons, "Name <a@b>". */
export function emails(text) {
  const parts = text.split(/[\n,;]+/).map((part) => (/<([^<>]*)>/.exec(part)?.[1] ?? part).trim());
  return [...new Set(parts.filter(Boolean))];
}

async function invite(form) {
  const [text, role, language] = all("textarea, select", form).map((field) => field.value);
  const invitations = emails(text).map((email) => ({ email, role, language }));
  const button = one("button[type=submit]", form);
  if (!invitations.length) return announce(say("This field is required."), "bad");
  await attempt(button, async () => {
    const { items } = await call("POST", "/invitations", { invitations });
    one("[data-outcome]").replaceChildren(...items.map(outcome));
    one("textarea", form).value = items.filter((item) => item.error).map((item) => item.email).join("\n");
  });
  form.dispatchEvent(new CustomEvent("done", { bubbles: true }));
}

/* What came of one email, in words. */
function outcome({ email, error, fields }) {
  const line = document.createElement("li");
  const wrong = fields && Object.values(fields).flat().map((text) => say(text)).join(" ");
  line.textContent = `${email}: ${error ? wrong || say(error) : say("is invited")}`;
  line.dataset.kind = error ? "bad" : "good";
  return line;
}

/* ---- Filters ---- */

const DAY = 24 * 60 * 60 * 1000; // milliseconds

/* What the field asks for: its value, or so many days ago. */
function wanted({ value, selectedOptions: [chosen] }) {
  const { days } = chosen.dataset;
  return days ? new Date(Date.now() - days * DAY).toISOString() : value;
}

function filter(field) {
  for (const id of field.dataset.of.split(" ")) {
    const list = document.getElementById(id);
    const [path, query] = list.dataset.list.split("?");
    const asked = new URLSearchParams(query);
    asked.delete(field.dataset.filter);
    if (field.value) asked.set(field.dataset.filter, wanted(field));
    list.dataset.list = `${path}?${asked}`;
  }
  field.dispatchEvent(new CustomEvent("done", { bubbles: true }));
}

/* ---- Download ---- */

/* A value as a spreadsheet shows it: one that begins like a formula is quoted. */
export function cell(value) {
  const text = String(value ?? "");
  return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

const COLUMNS = ["email", "first_name", "last_name", "role", "status", "last_sign_in_at", "created_at"];

async function whole(path) {
  const found = [];
  for (let page = 1; ; page += 1) {
    const { items, total } = await call("GET", `${path}?page=${page}&per_page=${MOST}`);
    found.push(...items);
    if (!items.length || page * MOST >= total) return found;
  }
}

async function save() {
  const people = await whole("/users");
  const rows = people.map((item) => ({ ...item, status: item.is_active ? "active" : "deactivated" }));
  rows.push(...(await whole("/invitations")).filter(({ status }) => status !== "accepted"));
  const lines = rows.map((row) => COLUMNS.map((name) => cell(row[name])).join(","));
  download("people.csv", "text/csv", [COLUMNS.join(","), ...lines].join("\r\n"));
}

/* ---- The company's name ---- */

whenShown(async (main) => {
  const form = one("form[data-company-name]", main);
  if (form) form.elements.name.value = (await call("GET", "/account")).name;
});

document.addEventListener("done", async ({ target }) => {
  if (!target.matches("form[data-company-name]")) return;
  const { name } = await call("GET", "/account");
  target.elements.name.value = name;
  sessionStorage.setItem("company", name);
  one("[data-company]").textContent = name;
});

/* ---- Events ---- */

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-team]")) return;
  event.preventDefault();
  invite(event.target);
});
document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-filter]")) filter(target);
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-csv]");
  if (button) attempt(button, save);
});
