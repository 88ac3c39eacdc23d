/* The company's sign-in at its own provider, set up in four steps. What is done is asked from the API, so the
set-up can be left and continued. */

import { makeChallenge } from "./client.js";
import { proveFirst } from "./factors.js";
import { fillText } from "./forms.js";
import { call, leaveFor, whenShown } from "./navigation.js";
import { all, announce, attempt, confirmed, one, problem, say } from "./screen.js";

const SWITCHES = ["active", "creates_users", "required"];
const day = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium" });

whenShown((main) => {
  if (!one("[data-connection]", main)) return;
  one("[data-provider-form]", main).work = saveProvider;
  one("[data-switches]", main).work = saveSwitches;
  loadSetUp().catch((error) => one("[data-connection]", main)?.isConnected && announce(problem(error), "bad"));
});

async function loadSetUp() {
  const place = one("[data-connection]");
  const asked = ["/account/domains?per_page=50", "/account/connection"].map((path) => call("GET", path));
  const [{ items }, connection] = await Promise.all(asked);
  if (place.isConnected) drawSetUp(place, items, connection);
}

function drawSetUp(place, domains, connection) {
  const done = [domains.some((domain) => domain.proved_at), connection.issuer, connection.tested_at, connection.active];
  const now = done.findIndex((step) => !step);
  all("[data-step]", place).forEach((body, n) => {
    body.hidden = !done[n] && n !== now;
    body.parentElement.dataset.state = done[n] ? "done" : n === now ? "now" : "later";
    body.parentElement.ariaCurrent = n === now ? "step" : null;
  });
  fillText(one(".steps", place), connection);
  one("[data-domains]", place).replaceChildren(...domains.map(domainItem));
  drawForms(place, connection);
  one("[data-last-test]", place).textContent = lastTest(connection);
  one("[data-exempt]", place).hidden = !connection.exempt_users;
  one("[data-stopped]", place).hidden = !connection.stopped_at;
  one("[data-removal]", place).hidden = !connection.issuer;
  const begun = domains.length || connection.issuer;
  const state = SWITCHES.findLast((name) => name !== "creates_users" && connection[name]);
  const text = state ?? (begun ? "step" : "none");
  one("[data-provider-state]").textContent = say(`sso: ${text}`, { step: now + 1 });
  one("main").toggleAttribute("data-tested", Boolean(connection.tested_at));
  for (const button of all("[data-copy-text]", place)) button.hidden = !navigator.clipboard; // without TLS
  one(".steps", place).classList.remove("awaited");
}

function drawForms(place, connection) {
  const [provider, switches] = [one("[data-provider-form]", place), one("[data-switches]", place)];
  for (const name of ["issuer", "client_id"]) {
    provider.elements[name].value = provider.elements[name].defaultValue = connection[name] ?? "";
  }
  const trust = provider.elements.trusts_emails;
  trust.checked = trust.defaultChecked = connection.trusts_emails;
  for (const name of SWITCHES) switches.elements[name].checked = switches.elements[name].defaultChecked = connection[name];
  if (!connection.active && connection.tested_at) switches.elements.active.checked = true; // what the step is for
}

function lastTest({ tested_at: at, last_problem: problem, last_problem_at: when }) {
  if (problem) return say("sso: last problem", { problem, date: day.format(new Date(when)) });
  return at ? say("sso: tested on", { date: day.format(new Date(at)) }) : "";
}

function domainItem(domain) {
  const item = document.getElementById("domain-row").content.cloneNode(true).firstElementChild;
  fillText(item, domain);
  item.dataset.id = domain.id;
  item.dataset.name = domain.name;
  const badge = one("[data-state]", item);
  badge.textContent = say(domain.proved_at ? "sso: proved" : "sso: unproved");
  badge.dataset.kind = domain.proved_at ? "active" : "pending";
  one("[data-unproved]", item).hidden = Boolean(domain.proved_at);
  one("[data-remove-domain]", item).ariaLabel = say("sso: remove domain", domain);
  return item;
}

function saveProvider(values) {
  values.trusts_emails = "trusts_emails" in values;
  return save("PUT", values, one("[data-provider-form]"), "sso: provider saved");
}

function saveSwitches(values) {
  for (const name of SWITCHES) values[name] = name in values;
  values.required &&= values.active; // the API refuses to require what is off
  return save("PATCH", values, one("[data-switches]"), "saved");
}

async function save(method, values, form, text) {
  await call(method, "/account/connection", values);
  await loadSetUp();
  form.dispatchEvent(new CustomEvent("cancelled", { bubbles: true })); // its second step
  announce(say(text));
}

/* ---- Buttons ---- */

async function proveDomain(button, { id, name }) {
  const error = await attempt(button, async () => {
    await call("POST", `/account/domains/${id}/prove`);
    await loadSetUp();
  });
  if (error) return;
  announce(say("sso: domain proved", { name }));
  one("[data-connection] h2").focus();
}

async function removeDomain(button, { id, name }) {
  if (!(await confirmed(button, say("sso: remove domain", { name }), say("sso: remove domain: then")))) return;
  const remove = async (proof) => {
    await call("DELETE", `/account/domains/${id}`, proof);
    await loadSetUp();
  };
  const error = await attempt(button, () => remove());
  if (error?.body?.fields?.password) return proveFirst(say("sso: remove domain", { name }), remove, say("saved"));
  if (!error) one("[data-connection] h2").focus();
}

const testProvider = (button) =>
  attempt(button, async () => {
    const { url } = await call("POST", "/account/connection/test", { challenge: await makeChallenge() });
    leaveFor(url);
  });

async function copyText(button) {
  const text = one("code", button.parentElement).textContent;
  if (!(await attempt(button, () => navigator.clipboard.writeText(text)))) announce(say("copied"));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-connection] button");
  if (!button) return;
  const domain = button.closest("li")?.dataset;
  if ("prove" in button.dataset) proveDomain(button, domain);
  if ("removeDomain" in button.dataset) removeDomain(button, domain);
  if ("test" in button.dataset) testProvider(button);
  if ("copyText" in button.dataset) copyText(button);
});
document.addEventListener("done", ({ target }) => {
  if (target.matches("[data-connection] form")) loadSetUp().catch((error) => announce(problem(error), "bad"));
});
addEventListener("hashchange", () => {
  if (location.hash === "#sign-in") one("[data-connection] h2")?.focus();
});
