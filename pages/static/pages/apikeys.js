// @ts-check
/* The company's API keys: a new key, which is shown once, and the end of a key. */

/** @import { MadeKey, Values } from "./types.js" */
import { workOf } from "./forms.js";
import { load, loadAll, rowElements, rowOf } from "./lists.js";
import { call, whenOnPage } from "./navigation.js";
import "./people.js"; // shows a tab before its heading is focused here
import { all, announceProblem, attempt, confirmed, fillText, find, hide, on, one, say, tell } from "./screen.js";

whenOnPage("[data-api-keys]", (place) => {
  workOf.set(one("form", place), makeKey);
  hide(all("[data-copy-text]", place), () => !navigator.clipboard); // without TLS
});

/** @param {Values} values */
async function makeKey(values) {
  const place = one("[data-api-keys]");
  const boxes = all("input[name=scopes]:checked", place);
  values.days = Number(values.days);
  if (boxes.length) values.scopes = boxes.map(({ value }) => value);
  /** @type {MadeKey} */
  const { key } = await call("POST", "/account/api-keys", values);
  const panel = one("[data-made-key]", place);
  const command = `curl -H "Authorization: Bearer $API_KEY" ${location.origin}${boxes[0].dataset.example}`;
  fillText(panel, { key, command });
  panel.hidden = false;
  tell(one("form", place), "cancelled"); // its second step
  one("h3", panel).focus();
  load(one("#keys"), 1).catch(announceProblem);
}

on("click", "button[data-key-kept]", (button) => {
  const panel = /** @type {HTMLElement} */ (button.closest("[data-made-key]"));
  panel.hidden = true;
  fillText(panel, {});
  one("[data-api-keys] h2").focus();
});

/* Nothing can be done with keys that have ended. */
on("loaded", "#keys", (list) => {
  for (const row of rowElements(list)) one("details", row).hidden = !rowOf(row).acts.length;
});

on("act", "#keys", async (list, { detail: { row: { id, name } } }) => {
  const row = one(`tr[data-id="${id}"]`, list);
  const button = one("button[data-for]", row);
  if (!(await confirmed(button, say("revoke key: sure", { name }), say("revoke key: then")))) return;
  const work = async () => {
    await call("DELETE", `/account/api-keys/${id}`);
    await loadAll(); // also of the invitations, of which some are revoked
  };
  if (!(await attempt(one("summary", row), work, say("revoke key: done", { name })))) one("[data-api-keys] h2").focus();
});

addEventListener("hashchange", () => {
  if (location.hash === "#api-keys") find("[data-api-keys] h2")?.focus();
});
