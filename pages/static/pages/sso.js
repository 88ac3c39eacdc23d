/* Signing in at the company's own provider: offered on the log-in page, finished on /sso; and confirming there
what needs a password. */

import { afterLogIn, client, goOn, leaveFor, visit, whenShown } from "./navigation.js";
import { all, announce, attempt, one, problem, say, withProgress } from "./screen.js";

const SET_UP = "/people#sign-in";
const PROOF = "proof"; // in sessionStorage: the proof of a confirmation, and when it ends
const PROOF_LIFE = 290_000; // milliseconds, a little less than the API's
const BACK = "proof-back"; // in sessionStorage: the page that asks for the proof

/* ---- The log-in page: by the address's domain ---- */

whenShown((main) => {
  const form = one("[data-provider]", main)?.form;
  if (form) lookUp(form);
});

async function lookUp(form) {
  const { email } = form.elements;
  const domainOf = () => (email.validity.valid ? email.value.trim().split("@")[1] ?? "" : "");
  const domain = domainOf();
  // Without TLS, on another host than this machine, browsers have no hash.
  if (domain === (form.dataset.domain ?? "") || !globalThis.crypto.subtle) return;
  form.dataset.domain = domain;
  const found = domain ? await client.findProvider(email.value).catch(() => null) : null;
  if (domain === domainOf() && one("[data-second]", form).hidden) drawProvider(form, found?.url ? found : null);
}

/* A button below the others, which stay where they are; or, where the provider is required, in their place. */
function drawProvider(form, found) {
  const button = one("[data-provider]", form);
  button.hidden = !found;
  if (found) button.textContent = one("#arrived").textContent = say("continue with", found);
  showOnly(form, found?.required ?? false);
}

function showOnly(form, only) {
  const [button, focused] = [one("[data-provider]", form), document.activeElement];
  form.toggleAttribute("data-only", only);
  button.classList.toggle("quiet", !only);
  for (const part of all("[data-by-password], [data-log-in]", form)) part.classList.toggle("away", only);
  one("[data-provider-only]", form).hidden = !only;
  if (only && focused.closest(".away")) button.focus();
}

async function goToProvider(button) {
  const { form } = button;
  await attempt(button, async () => {
    const found = await client.findProvider(form.elements.email.value);
    if (found.url) leaveFor(found.url);
    else drawProvider(form, null);
  });
}

document.addEventListener("change", ({ target }) => {
  if (target.matches("[name=email]") && one("[data-provider]", target.form)) lookUp(target.form);
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button && "provider" in button.dataset) goToProvider(button);
  if (button && "confirm" in button.dataset) confirmThere(button);
  if (!button || !("withPassword" in button.dataset)) return;
  showOnly(button.form, false);
  button.form.elements.password.focus();
});
/* Enter goes the only way there is. */
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-only]")) return;
  event.preventDefault();
  event.stopPropagation();
  goToProvider(one("[data-provider]", event.target));
}, true);

/* ---- Confirming there: offered where a password is asked for ---- */

document.addEventListener("focusin", ({ target }) => {
  const place = target.matches("[name$=password]") && target.form && one("[data-at-provider]", target.form);
  if (place && !place.dataset.offered && client.user) offerProvider(place);
});

async function offerProvider(place) {
  place.dataset.offered = "true";
  const found = await client.findProvider(client.user.email).catch(() => null);
  const button = one("[data-confirm]", place);
  button.hidden = !found?.url;
  if (found?.url) button.textContent = say("sso: confirm", found);
}

const confirmThere = (button) =>
  attempt(button, async () => {
    const { url } = await client.call("POST", "/auth/sso/confirm");
    sessionStorage.setItem(BACK, location.pathname + location.hash);
    leaveFor(url);
  });

/* With a proof, no password is asked for. */
function drawProofs(main) {
  const { proof, ends } = JSON.parse(sessionStorage.getItem(PROOF) ?? "{}");
  const usable = Date.now() < (ends ?? 0);
  for (const place of all("[data-at-provider]", main)) {
    const [input, field] = [one("[name=proof]", place), one("[name$=password]", place.closest("form"))];
    input.value = usable ? proof : "";
    input.disabled = !usable;
    field.disabled = field.closest(".field").hidden = usable;
    one("[data-confirmed]", place).hidden = !usable;
    if (usable) one("[data-confirm]", place).hidden = true;
  }
}
whenShown(drawProofs);

/* It works once. */
function dropProof(form) {
  if (!one("[name=proof]:enabled", form)) return false;
  sessionStorage.removeItem(PROOF);
  drawProofs(one("main"));
  return true;
}
document.addEventListener("accepted", ({ target }) => dropProof(target));
document.addEventListener("refused", ({ target, detail }) => {
  if (detail.message === "wrong password" && dropProof(target)) announce(say("sso: expired"), "bad");
});

/* ---- /sso: what the provider has answered ---- */

whenShown(async (main) => {
  const place = one("[data-sso]", main);
  if (!place) return;
  const answer = new URLSearchParams(location.hash.slice(1));
  const back = sessionStorage.getItem(BACK);
  sessionStorage.removeItem(BACK);
  if (answer.has("proof")) {
    const kept = { proof: answer.get("proof"), ends: Date.now() + PROOF_LIFE };
    sessionStorage.setItem(PROOF, JSON.stringify(kept));
    return visit(back ?? "/profile", { replace: true, text: say("sso: confirmed") });
  }
  if (answer.has("tested")) return visit(SET_UP, { replace: true, text: say("sso: tested") });
  if (!answer.has("code")) return tellReason(place, say(`sso: ${answer.get("error") ?? "expired"}`), back);
  history.replaceState(null, "", location.pathname); // a reload doesn't use it again
  try {
    const session = await withProgress(() => client.logInByProvider(answer.get("code")));
    client.signIn(session);
    await goOn(session.user, afterLogIn());
  } catch (error) {
    tellReason(place, error.status === 400 ? say("sso: expired") : problem(error));
  }
});

/* Why it failed, and what to do: to an admin who has tested the provider, or else to who signs in. */
function tellReason(place, text, back = null) {
  const shown = one(client.lastRole ? "[data-tester]" : "[data-visitor]", place);
  if (back) Object.assign(one("a", shown), { href: back, textContent: say("try again") });
  one("[data-reason]", shown).textContent = text.startsWith("sso: ") ? say("sso: provider") : text;
  one("[data-waiting]", place).hidden = true;
  shown.hidden = false;
  one("h1", shown).focus();
}
