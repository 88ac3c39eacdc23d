/* Signing in by passkey: offered by the browser in the address field, and by a button. */

import { hasPasskeys } from "./client.js";
import { enter } from "./forms.js";
import { client, whenShown } from "./navigation.js";
import { announce, attempt, one, problem } from "./screen.js";

const FRESH = 240_000; // milliseconds after which a new challenge is asked for: it lives five minutes

let offered = new AbortController();

function endOffer() {
  offered.abort();
  offered = new AbortController();
}

whenShown((main) => {
  endOffer();
  const button = one("[data-log-in]", main);
  if (!button || !hasPasskeys) return;
  button.hidden = false;
  offer(button.form);
});

/* Let the browser offer its passkeys. Optional: if it fails or is declined, the form and the button
remain. */
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
    if (error.message === "wrong passkey") announce(problem(error), "bad");
    else if (!old.aborted) return;
  }
  offer(form);
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-log-in]");
  if (!button || button.ariaDisabled) return;
  endOffer();
  let answer;
  const error = await attempt(button, async () => {
    answer = await client.logInByPasskey();
  });
  if (error) offer(button.form);
  else enter(button.form, answer);
});
