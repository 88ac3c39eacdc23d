// @ts-check
/* The company's sign-in at its own provider, set up in four steps. What is done is asked from the API, so the
set-up can be left and continued. */

/** @import { Domain, IdentityProvider, Page } from "./types.js" */
import { makeChallenge } from "./client.js";
import { call, client } from "./navigation.js";
import {
  all, announceProblem, attempt, confirmed, copy, fieldOf, fillText, find, formatDay, fromTemplate, hide, on, one, say,
} from "./screen.js";

/* The advice for the provider's problems, by their ends. */
const ADVICE = /** @type {const} */ ([
  ["secret", /invalid_client$/],
  ["refused", /status$/],
  ["unreachable", /unreachable$/],
  ["timeout", /timeout$/],
  ["certificate", /certificate$/],
  ["issuer", /iss(uer)?$|InvalidIssuerError$/],
  ["client", /azp$|InvalidAudienceError$/],
  ["clock", /iat$|ExpiredSignatureError$|ImmatureSignatureError$/],
  ["signature", /keys?$|algorithm$|InvalidSignatureError$/],
  ["address", /address$/],
  ["auth_time", /auth_time$/],
  ["unverified", /unverified$/],
]);

/** @type {WeakSet<HTMLElement>} */
const loading = new WeakSet(); // what another tab has opened already: a later answer would undo what is typed meanwhile

/* The settings and the provisioning tell of it, too. */
on("opened", "[data-tab=settings], [data-tab=sign-in], [data-tab=provisioning]", async () => {
  const place = find("[data-connection]:has(.steps.awaited)");
  if (!place || loading.has(place)) return;
  loading.add(place);
  await loadSetUp().catch((error) => place.isConnected && announceProblem(error));
  loading.delete(place);
});

async function loadSetUp() {
  const place = one("[data-connection]");
  /** @type {Promise<Page<Domain>>} */
  const domains = call("GET", "/account/domains?per_page=50");
  /** @type {Promise<IdentityProvider>} */
  const provider = call("GET", "/account/connection");
  const answers = await Promise.all([domains, provider]);
  if (place.isConnected) drawSetUp(place, answers[0].items, answers[1]);
}

/** @param {HTMLElement} place @param {Domain[]} domains @param {IdentityProvider} provider */
function drawSetUp(place, domains, provider) {
  const done = [domains.some((domain) => domain.proved_at), provider.issuer, provider.tested_at, provider.active];
  const now = done.findIndex((step) => !step);
  const begun = domains.length || provider.issuer ? "step" : "none";
  const state = say(`sso: ${provider.required ? "required" : provider.active ? "active" : begun}`, { step: now + 1 });
  const texts = [domains.map(({ name }) => name).join(", "), provider.issuer, lastTest(provider), state];
  const isProving = domains.some((domain) => !domain.proved_at);
  const hasDraft = Object.keys(readDraft()).length > 0;
  all("li > div[data-step]", place).forEach((body, n) => {
    const step = /** @type {HTMLElement} */ (body.parentElement);
    body.hidden = n !== now && !(isProving && n === 0) && !(hasDraft && n === 1);
    one("[data-step-line]", step).hidden = !done[n] || !body.hidden;
    one("[data-step-line] span", step).textContent = done[n] ? texts[n] : "";
    one("button[data-edit-step]", step).ariaExpanded = "false";
    step.dataset.state = done[n] ? "done" : n === now ? "now" : "later";
    step.ariaCurrent = n === now ? "step" : null;
  });
  fillText(one(".steps", place), provider);
  one("[data-domains]", place).replaceChildren(...domains.map(domainItem));
  drawForms(place, provider);
  one("[data-last-test]", place).textContent = lastTest(provider);
  one("[data-exempt]", place).hidden = !provider.exempt_users;
  one("[data-stopped]", place).hidden = !provider.stopped_at;
  one("[data-removal]", place).hidden = !provider.issuer;
  one("[data-provider-state]").textContent = state;
  hide(all("[data-proved]"), ({ dataset }) => dataset.proved !== (done[0] ? "yes" : "no"));
  one(".steps", place).classList.remove("awaited");
  showPresentStep();
}

const showPresentStep = () => find("[data-connection] [aria-current=step]")?.scrollIntoView({ block: "nearest" });
document.addEventListener("prepared", showPresentStep);

/** @param {HTMLElement} place @param {IdentityProvider} provider */
function drawForms(place, provider) {
  for (const [name, value] of Object.entries(provider)) {
    const field = find(`input[name=${name}]`, place);
    if (typeof value === "boolean" && field) field.checked = field.defaultChecked = value;
    else if (field) field.value = field.defaultValue = String(value ?? "");
  }
  for (const [name, value] of Object.entries(readDraft())) one(`input[name=${name}]`, place).value = value;
  // What the last step is for.
  if (!provider.active && provider.tested_at) one("input[name=active]", place).checked = true;
}

/* What is typed in the provider's form and isn't saved yet outlives a reload, but for the secret. */

const draftKey = () => `provider of ${client.user?.id}`; // in sessionStorage
/** @returns {Record<string, string>} */
const readDraft = () => JSON.parse(sessionStorage.getItem(draftKey()) ?? "{}");

on("input", "form[data-provider-form] input:not([name=client_secret]):not([type=checkbox])", ({ name, value }) =>
  sessionStorage.setItem(draftKey(), JSON.stringify({ ...readDraft(), [name]: value })));
on("done", "form[data-provider-form]", () => sessionStorage.removeItem(draftKey()));

/** @param {IdentityProvider} provider */
function lastTest({ tested_at, last_problem: problem, last_problem_at }) {
  if (problem && last_problem_at) {
    const kind = ADVICE.find(([, end]) => end.test(problem))?.[0] ?? "other";
    const advice = say(`problem: ${kind}`, { problem });
    return say("sso: last problem", { problem: advice, date: formatDay(last_problem_at) });
  }
  return tested_at ? say("sso: tested on", { date: formatDay(tested_at) }) : "";
}

/** @param {Domain} domain */
function domainItem(domain) {
  const { id, name, proved_at } = domain;
  const item = fromTemplate("domain-row");
  fillText(item, domain);
  const badge = one("[data-state]", item);
  badge.textContent = say(proved_at ? "sso: proved" : "sso: unproved");
  badge.dataset.kind = proved_at ? "active" : "pending";
  one("[data-unproved]", item).hidden = Boolean(proved_at);
  const [prove, remove] = [one("button[data-prove]", item), one("button[data-remove-domain]", item)];
  prove.onclick = () => change(prove, "POST", `/account/domains/${id}/prove`, say("sso: domain proved", { name }));
  remove.ariaLabel = say("sso: remove domain", { name });
  remove.onclick = async () => {
    const question = say("sso: remove domain", { name });
    if (!(await confirmed(remove, question, say("sso: remove domain: then")))) return;
    change(remove, "DELETE", `/account/domains/${id}`, say("saved"));
  };
  return item;
}

/** Make the button's call, and show the set-up again. @param {HTMLElement} button @param {string} method @param {string} path @param {string} text */
async function change(button, method, path, text) {
  const work = () => call(method, path).then(loadSetUp);
  if (!(await attempt(button, work, text))) one("[data-connection] h2").focus();
}

/* ---- Events ---- */

/* The API refuses to require what is off. */
on("change", "form input[name=active]", ({ checked, form }) => (fieldOf(form, "required").checked &&= checked));
on("change", "form input[name=required]", ({ checked, form }) => (fieldOf(form, "active").checked ||= checked));

on("click", "button[data-test]", (button) =>
  attempt(button, async () => {
    /** @type {{ url: string }} */
    const { url } = await call("POST", "/account/connection/test", { challenge: await makeChallenge() });
    location.assign(url);
  }));

on("click", "button[data-remove-provider]", async (button) => {
  if (!(await confirmed(button, say("sso: remove"), say("sso: remove: then")))) return;
  change(button, "DELETE", "/account/connection", say("sso: removed"));
});

on("click", "button[data-edit-step]", (button) => {
  const body = one("[data-step]", button.closest("li") ?? undefined);
  body.hidden = !body.hidden;
  button.ariaExpanded = String(!body.hidden);
});

on("change", "select[data-provider-kind]", ({ value }) =>
  hide(all("[data-guide]"), ({ dataset }) => dataset.guide !== value));

on("click", "code + button[data-copy-text]", (button) => copy(button, button.previousElementSibling?.textContent ?? ""));

on("done", "[data-connection] form", () => loadSetUp().catch(announceProblem));
addEventListener("hashchange", () => {
  if (location.hash !== "#sign-in") return;
  find("[data-connection] h2")?.focus();
  showPresentStep();
});
