// @ts-check
/* Signing in at the company's own provider: offered on the log-in page, finished on /sso; and confirming there
what needs a password. */

/** @import { Provider } from "./client.js" */
import { Refused } from "./client.js";
import { afterLogIn, call, client, goOn, loadCompany, visit, whenOnPage, whenShown } from "./navigation.js";
import { all, announce, attempt, fieldOf, find, hide, on, one, problem, replacePart, say, withProgress, write } from "./screen.js";

const SET_UP = "/people#sign-in";
const PROOF = "proof"; // in sessionStorage: the proof of a confirmation, and when it ends
const PROOF_LIFE = 290_000; // milliseconds, a little less than the API's
const BACK = "proof-back"; // in sessionStorage: the page that asks for the proof
const REASONS = /** @type {const} */ ([
  "expired", "switched_off", "denied", "provider", "busy", "unverified", "domain", "account", "not_invited",
  "other_user",
]);

/* ---- The log-in page: by the address's domain ---- */

let lastDomain = ""; // that was looked up

whenOnPage("form:has([data-provider])", (form) => {
  lastDomain = "";
  lookUp(form);
});

/** @param {HTMLFormElement} form */
async function lookUp(form) {
  const email = fieldOf(form, "email");
  const domainOf = () => (email.validity.valid && email.value.trim().split("@")[1]) || "";
  const domain = domainOf();
  // Without TLS, on another host than this machine, browsers have no hash.
  if (domain === lastDomain || !globalThis.crypto.subtle) return;
  lastDomain = domain;
  const provider = domain ? await client.findProvider(email.value).catch(() => null) : null;
  if (domain === domainOf() && one("[data-second]", form).hidden) drawProvider(form, provider?.url ? provider : null);
}

/**
 * Draw a button below the others, which stay where they are; or, where the provider is required, in their place.
 * @param {HTMLFormElement} form
 * @param {Provider | null} provider
 */
function drawProvider(form, provider) {
  const button = one("[data-provider]", form);
  button.hidden = !provider;
  if (provider) {
    button.textContent = one("#arrived").textContent = say("continue with", { company: provider.company });
  }
  showOnly(form, provider?.required ?? false);
}

/** @param {HTMLFormElement} form @param {boolean} only */
function showOnly(form, only) {
  const [button, focused] = [one("[data-provider]", form), document.activeElement];
  form.toggleAttribute("data-only", only);
  button.classList.toggle("quiet", !only);
  for (const part of all("[data-by-password]", form)) part.classList.toggle("away", only);
  one("[data-provider-only]", form).hidden = !only;
  if (only && focused?.closest(".away")) button.focus();
}

/** @param {HTMLFormElement} form */
const goToProvider = (form) =>
  attempt(one("[data-provider]", form), async () => {
    const provider = await client.findProvider(fieldOf(form, "email").value);
    if (provider.url) location.assign(provider.url);
    else drawProvider(form, null);
  });

on("change", "form:has([data-provider]) input[name=email]", ({ form }) => lookUp(form));
on("click", "form button[data-provider]", ({ form }) => goToProvider(form));
on("click", "form button[data-with-password]", ({ form }) => {
  showOnly(form, false);
  fieldOf(form, "password").focus();
});

/* Enter goes the only way there is. */
on("submit", "form[data-only]", (form, event) => {
  event.preventDefault();
  event.stopPropagation();
  goToProvider(form);
}, true);

/* ---- Confirming there: offered where a password is asked for ---- */

/** @type {WeakSet<Element>} */
const offered = new WeakSet(); // where the provider was looked up

on("focusin", "form:has([data-at-provider]) input[name$=password]", async ({ form }) => {
  const place = one("[data-at-provider]", form);
  if (!client.user || offered.has(place)) return;
  offered.add(place);
  const provider = await client.findProvider(client.user.email).catch(() => null);
  const button = one("[data-confirm]", place);
  button.hidden = !provider?.url;
  if (provider?.url) button.textContent = say("sso: confirm", { company: provider.company });
});

on("click", "button[data-confirm]", (button) =>
  attempt(button, async () => {
    const { url } = await client.call("POST", "/auth/sso/confirm");
    sessionStorage.setItem(BACK, location.pathname + location.hash);
    location.assign(url);
  }));

/** With a proof, no password is asked for. @param {HTMLElement} main */
function drawProofs(main) {
  const { proof = "", ends = 0 } = JSON.parse(sessionStorage.getItem(PROOF) ?? "{}");
  const usable = Date.now() < ends;
  for (const form of all("form:has([data-at-provider])", main)) {
    const [input, password] = [one("input[name=proof]", form), one("input[name$=password]", form)];
    input.value = usable ? proof : "";
    input.disabled = !usable;
    one(".field:has([name$=password])", form).hidden = password.disabled = usable;
    one("[data-confirmed]", form).hidden = !usable;
    if (usable) one("[data-confirm]", form).hidden = true;
  }
}
whenShown(drawProofs);

/** Drop the form's proof, which works once. @param {HTMLFormElement} form */
function dropProof(form) {
  if (!find("[name=proof]:enabled", form)) return false;
  sessionStorage.removeItem(PROOF);
  drawProofs(one("main"));
  return true;
}
on("accepted", "form", dropProof);
on("refused", "form", (form, { detail: error }) => {
  if (error.message === "wrong password" && dropProof(form)) announce(say("sso: expired"), "bad");
});

/* ---- The account page of a user who must sign in there ---- */

whenOnPage("[data-company-account]", async (place, main) => {
  /** @type {{ must_use_provider: boolean }} */
  const { must_use_provider: isRequired } = await call("GET", "/pages/account");
  for (const part of all("[data-by-own]", main)) part.classList.toggle("away", isRequired);
  hide(all("[data-at-company]", main), () => !isRequired);
  if (isRequired) write(place, say("sso: at company", { company: (await loadCompany()).name }));
});

/* ---- /sso: what the provider has answered ---- */

whenOnPage("[data-sso]", async (place) => {
  const answer = new URLSearchParams(location.hash.slice(1));
  const [code, proof, back] = [answer.get("code"), answer.get("proof"), sessionStorage.getItem(BACK)];
  sessionStorage.removeItem(BACK);
  if (proof !== null) {
    sessionStorage.setItem(PROOF, JSON.stringify({ proof, ends: Date.now() + PROOF_LIFE }));
    return visit(back ?? "/profile", { replace: true, text: say("sso: confirmed") });
  }
  if (answer.has("tested")) return visit(SET_UP, { replace: true, text: say("sso: tested") });
  if (!code) {
    const error = answer.get("error") ?? "expired";
    return tellReason(place, say(`sso: ${REASONS.find((reason) => reason === error) ?? "provider"}`), back);
  }
  history.replaceState(null, "", location.pathname); // a reload doesn't use it again
  try {
    const session = await withProgress(() => client.logInByProvider(code));
    client.signIn(session);
    await goOn(session.user, afterLogIn());
  } catch (error) {
    const expired = error instanceof Refused && error.status === 400;
    tellReason(place, expired ? say("sso: expired") : problem(error));
  }
});

/**
 * Say why it failed, and what to do: to an admin who has tested the provider, or else to who signs in.
 * @param {HTMLElement} place
 * @param {string} text
 * @param {string | null} [back] the page to try again from
 */
function tellReason(place, text, back) {
  const shown = one(client.lastRole ? "[data-tester]" : "[data-visitor]", place);
  if (back) Object.assign(one("a", shown), { href: back, textContent: say("try again") });
  one("[data-reason]", shown).textContent = text;
  replacePart(one("[data-waiting]", place), shown);
}
