// @ts-check
/* Signing in by passkey: offered by the browser in the address field, and by a button. */

import { hasPasskeys } from "./client.js";
import { enter } from "./forms.js";
import { client, whenShown } from "./navigation.js";
import { all, announceProblem, attempt, hide, on } from "./screen.js";

const FRESH = 240_000; // milliseconds after which a new challenge is asked for: it lives five minutes

let offered = new AbortController();

function endOffer() {
  offered.abort();
  offered = new AbortController();
}

whenShown((main) => {
  endOffer();
  const buttons = all("form button[data-log-in]", main);
  for (const button of buttons) button.classList.remove("awaited");
  hide(all("div:has(> [data-log-in])", main), () => !hasPasskeys);
  if (buttons.length && hasPasskeys) offer(buttons[0].form);
});

/**
 * Let the browser offer its passkeys. Optional: if it fails or is declined, the form and the button remain.
 * @param {HTMLFormElement} form
 * @returns {Promise<void>}
 */
async function offer(form) {
  const { signal: over } = offered;
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.()) || over.aborted) return;
  const old = AbortSignal.timeout(FRESH);
  try {
    const signal = AbortSignal.any([over, old]);
    const answer = await client.logInByPasskey({ mediation: "conditional", signal });
    return enter(form, answer);
  } catch (error) {
    if (over.aborted) return;
    if (error instanceof Error && error.message === "wrong passkey") announceProblem(error);
    else if (!old.aborted) return;
  }
  offer(form);
}

on("click", "form button[data-log-in]", async (button) => {
  if (button.ariaDisabled) return;
  endOffer();
  if (await attempt(button, async () => enter(button.form, await client.logInByPasskey()))) offer(button.form);
});
