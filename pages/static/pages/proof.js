// @ts-check
/* "Confirm it's you": the one dialog for calls that need re-authentication. What is typed on the page stays. */

/** @import { Proof } from "./client.js" */
import { Refused } from "./client.js";
import { sender, workOf } from "./forms.js";
import { call, client, PROOF_CHANNEL } from "./navigation.js";
import { announce, attempt, fieldOf, on, one, place, say, tell } from "./screen.js";

const ABOUT_PROOF = ["wrong password", "second factor required", "wrong code"];

/** @param {unknown} error */
const isAboutProof = (error) =>
  error instanceof Refused && (error.status === 429 || ABOUT_PROOF.includes(error.message) || error.body.fields?.password);

/**
 * Ask for a proof and do the work with it, again until its answer isn't about the proof. Settles as the work does;
 * rejects with an AbortError if the dialog is closed before.
 * @template Answer
 * @param {(proof: Proof) => Promise<Answer>} work
 * @returns {Promise<Answer>}
 */
export async function prove(work) {
  const dialog = one("dialog#proof");
  const form = one("form", dialog);
  const username = fieldOf(form, "username"); // for password managers; pages of release 3.1 have none
  if (username) username.value = client.user?.email ?? "";
  await drawWays(form);
  dialog.showModal();
  announce("");
  return new Promise((resolve, reject) => {
    workOf.set(form, async (values) => {
      try {
        resolve(await work(/** @type {Proof} */ (values)));
      } catch (error) {
        if (isAboutProof(error)) throw error;
        reject(error);
      }
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      form.reset();
      useProof(form, "");
      tell(form, "cancelled"); // shows the first step again
      place();
      reject(new DOMException("", "AbortError"));
    }, { once: true });
  });
}

/* ---- Users of a provider, who may have no password, confirm there: in a tab of its own ---- */

/** Offer the password, the provider, or both. @param {HTMLFormElement} form */
async function drawWays(form) {
  const button = one("[data-confirm]", form);
  const provider = await client.findProvider(client.user?.email ?? "").catch(() => null);
  /** @type {{ has_password: boolean } | null} */
  const facts = provider?.url ? await call("GET", "/pages/account") : null;
  const isOnlyWay = facts?.has_password === false;
  button.hidden = !provider?.url;
  button.textContent = say("sso: confirm", { company: provider?.company });
  button.classList.toggle("quiet", !isOnlyWay);
  one(".field", form).hidden = sender(form).hidden = isOnlyWay;
}

/** Send this proof in place of the password; without one, ask for the password. @param {HTMLFormElement} form @param {string} proof */
function useProof(form, proof) {
  const field = fieldOf(form, "proof");
  field.value = proof;
  field.disabled = !proof;
  fieldOf(form, "password").disabled = Boolean(proof);
}

on("click", "form button[data-confirm]", async (button) => {
  const tab = open(); // at once: browsers block it after an answer
  const channel = new BroadcastChannel(PROOF_CHANNEL);
  channel.onmessage = ({ data }) => {
    channel.close();
    useProof(button.form, data);
    button.form.requestSubmit();
  };
  const error = await attempt(button, async () => {
    const { url } = await client.call("POST", "/auth/sso/confirm");
    tab?.location.assign(url);
  });
  if (error) tab?.close();
});

on("refused", "#proof form", async (form, { detail: error }) => {
  if (error.message !== "wrong password" || fieldOf(form, "proof").disabled) return;
  useProof(form, "");
  await drawWays(form);
  one("[data-confirm]", form).focus();
  announce(say("sso: expired"), "bad");
});
