// @ts-check
/* The company's API keys, and those of its directories (provisioning): a new key, which is shown once. */

/** @import { MadeKey, Values } from "./types.js" */
import { workOf } from "./forms.js";
import { load, sectionOf } from "./lists.js";
import { call, whenShown } from "./navigation.js";
import "./people.js"; // shows a tab before its heading is focused here
import { all, announceProblem, fillText, find, on, one } from "./screen.js";

whenShown((main) => {
  for (const place of all("[data-api-keys]", main)) {
    workOf.set(one("form", place), (values) => makeKey(place, values));
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

addEventListener("hashchange", () => find("[data-api-keys]:not([hidden]) h2")?.focus());
