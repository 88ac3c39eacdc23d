/* The entry point of the pages' script. */

import { takeToken } from "./forms.js";
import { call, client, offer, show, signOut, speak } from "./navigation.js";
import "./passkeys.js";
import { announce, announceKept, attempt, confirmed, one, say } from "./screen.js";
import "../signin/show.js";

async function leave(button) {
  const everywhere = button.dataset.signOut === "everywhere";
  if (everywhere) {
    const sure = [say("sign out everywhere: sure"), say("sign out everywhere: then")];
    if (!(await confirmed(button, ...sure))) return;
  }
  await attempt(button, () => signOut(everywhere));
}

const OFFERED = "offer-language"; // in sessionStorage: a signed-in person has switched the pages' language

function choose(language) {
  if (client.lastRole) sessionStorage.setItem(OFFERED, "");
  speak(language);
}

/* Offer to store the language for the account, which mails and other browsers use. */
function offerToKeep() {
  const language = document.documentElement.lang;
  if (!client.user || client.user.settings.language === language) return;
  const name = one(`[data-language=${language}]`).textContent;
  announce(say("keep language", { language: name }), "wait");
  offer(say("keep language: yes"), async (button) => {
    const work = async () => client.update(await call("PATCH", "/auth/me", { settings: { language } }));
    if (!(await attempt(button, work))) announce(say("saved"));
  });
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.language) choose(button.dataset.language);
  if (button && "signOut" in button.dataset) leave(button);
});

takeToken();
announceKept();
const switched = sessionStorage.getItem(OFFERED) !== null;
sessionStorage.removeItem(OFFERED); // now, since a click while the page is made sets it for the next one
await show();
if (switched) offerToKeep();
