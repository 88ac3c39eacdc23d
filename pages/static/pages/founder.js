// @ts-check
/* The account page's first steps, for who signed up a company in this browser: until they are done, or hidden. */

/** @import { Factors } from "./client.js" */
/** @import { Figures } from "./types.js" */
import { FOUNDER } from "./forms.js";
import { call } from "./navigation.js";
import { all, hide, on, one } from "./screen.js";

export async function drawSteps() {
  /** @type {Figures} */
  const { people, invitations } = await call("GET", "/pages/overview");
  /** @type {Factors} */
  const { items } = await call("GET", "/auth/factors");
  const open = [people + invitations < 2 && "team", !items.length && "protection"];
  hide(all("[data-step]"), ({ dataset }) => !open.includes(dataset.step ?? ""));
  if (open.some(Boolean)) one("[data-first-steps]").hidden = false;
  else hideSteps();
}

function hideSteps() {
  localStorage.removeItem(FOUNDER);
  one("[data-first-steps]").hidden = true;
}

on("click", "button[data-dismiss]", () => {
  hideSteps();
  one("main h1").focus();
});
