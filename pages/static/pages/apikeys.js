// @ts-check
/* The company's API keys, and those of its directories (provisioning): a new key, which is shown once, and the end of
a key. */

/** @import { MadeKey, Values } from "./types.js" */
import { workOf } from "./forms.js";
import { load, loadAll, rowElements, rowOf, sectionOf } from "./lists.js";
import { call, whenShown } from "./navigation.js";
import "./people.js"; // shows a tab before its heading is focused here
import { all, announceProblem, attempt, confirmed, fillText, find, hide, on, one, say } from "./screen.js";

whenShown((main) => {
  for (const place of all("[data-api-keys]", main)) {
    workOf.set(one("form", place), (values) => makeKey(place, values));
    hide(all("[data-copy-text]", place), () => !navigator.clipboard); // without TLS
  }
});

/** @param {HTMLElement} place @param {Values} values */
async function makeKey(place, values) {
  const boxes = all("input[name=scopes]:checked", place);
  values.days = Number(values.days);
  if (boxes.length) values.scopes = boxes.map(({ value }) => value);
  /** @type {MadeKey} */
  const { key } = await call("POST", "/account/api-keys", values);
  const panel = one("[data-made-key]", place);
  const command = `curl -H "Authorization: Bearer $API_KEY" ${location.origin}${boxes[0].dataset.example}`;
  fillText(panel, { key, command });
  panel.hidden = false;
  one("h3", panel).focus();
  for (const list of all("[data-api-keys] [data-list]")) load(list, 1).catch(announceProblem);
}

on("click", "button[data-key-kept]", (button) => {
  const panel = /** @type {HTMLElement} */ (button.closest("[data-made-key]"));
  panel.hidden = true;
  fillText(panel, {});
  one("h2", sectionOf(panel)).focus();
});

/* Nothing can be done with keys that have ended. */
on("loaded", "[data-api-keys] [data-list]", (list) => {
  for (const row of rowElements(list)) one("details", row).hidden = !rowOf(row).acts.length;
});

on("act", "[data-api-keys]", async (place, { detail: { row: { id, name } } }) => {
  const row = one(`tr[data-id="${id}"]`, place);
  const button = one("button[data-for]", row);
  const consequence = place.dataset.tab === "provisioning" ? "revoke key: then, directory" : "revoke key: then";
  if (!(await confirmed(button, say("revoke key: sure", { name }), say(consequence)))) return;
  const work = async () => {
    await call("DELETE", `/account/api-keys/${id}`);
    await loadAll(); // also of the invitations, of which some are revoked
  };
  if (!(await attempt(one("summary", row), work, say("revoke key: done", { name })))) one("h2", place).focus();
});

addEventListener("hashchange", () => find("[data-api-keys]:not([hidden]) h2")?.focus());
