/* The people page: how the company stands, in figures; the only admin, who cannot leave; and what has
happened, by whom or to whom and of which kind. */

import { fillText } from "./forms.js";
import { ACTS, load } from "./lists.js";
import { call } from "./navigation.js";
import { all, attempt, one, say } from "./screen.js";

/* ---- Figures ---- */

let admins = Infinity; // who are active, as far as is known

async function overview() {
  const place = one("[data-overview]");
  if (!place) return;
  const figures = await call("GET", "/pages/overview");
  fillText(place, figures);
  place.hidden = false;
  admins = figures.admins;
  spareOnlyAdmin();
}

/* What would leave the company without an admin is not offered. */
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
  if (!target.dataset.search) overview().catch(() => {}); // what is wrong is said by the list itself
});

/* ---- What has happened ---- */

ACTS.history = { open: (facts) => show(facts) };

/* The trail of one person; of everybody, without facts. */
async function show(facts) {
  const list = one("#events");
  const [path, query] = list.dataset.list.split("?");
  const asked = new URLSearchParams(query);
  asked.delete("user_id");
  if (facts) asked.set("user_id", facts.id);
  list.dataset.list = `${path}?${asked}`;
  one("[data-of-whom]").hidden = !facts;
  one("[data-of-whom] span").textContent = facts ? say("of person", facts) : "";
  const heading = one("h2", list.closest("section"));
  await attempt(list, () => load(list));
  heading.focus();
}

document.addEventListener("click", ({ target }) => {
  if (target.closest("button[data-of-everybody]")) show(null);
});
