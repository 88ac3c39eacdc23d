// @ts-check
/* Signing in at the company's own provider: offered on the log-in page, finished on /sso. */

/** @import { Provider } from "./client.js" */
import { Refused } from "./client.js";
import { afterLogIn, call, client, goOn, loadCompany, PROOF_CHANNEL, visit, whenOnPage } from "./navigation.js";
import { all, attempt, fieldOf, hide, on, one, problem, replacePart, say, withProgress, write } from "./screen.js";

const SET_UP = "/people#sign-in";
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
  const [code, proof] = [answer.get("code"), answer.get("proof")];
  if (proof !== null) {
    history.replaceState(null, "", location.pathname);
    new BroadcastChannel(PROOF_CHANNEL).postMessage(proof);
    one("h1", place).textContent = say("sso: confirmed");
    return close(); // this tab, if the browser lets it
  }
  if (answer.has("tested")) return visit(SET_UP, { replace: true, text: say("sso: tested") });
  if (!code) {
    const error = answer.get("error") ?? "expired";
    return tellReason(place, say(`sso: ${REASONS.find((reason) => reason === error) ?? "provider"}`));
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
 */
function tellReason(place, text) {
  const shown = one(client.lastRole ? "[data-tester]" : "[data-visitor]", place);
  one("[data-reason]", shown).textContent = text;
  replacePart(one("[data-waiting]", place), shown);
}
