// @ts-check
/* The entry point of the pages' script. */

import { takeToken } from "./forms.js";
import { call, client, offer, show, signOut, speak } from "./navigation.js";
import "./passkeys.js";
import { announce, announceKept, attempt, confirmed, on, one, say } from "./screen.js";
import "../signin/show.js";

on("click", "button[data-sign-out]", async (button) => {
  const everywhere = button.dataset.signOut === "everywhere";
  const [sure, then] = [say("sign out everywhere: sure"), say("sign out everywhere: then")];
  if (everywhere && !(await confirmed(button, sure, then))) return;
  await attempt(button, () => signOut(everywhere));
});

const OFFERED = "offer-language"; // in sessionStorage: a signed-in person has switched the pages' language

on("click", "button[data-language]", ({ dataset }) => {
  if (client.lastRole) sessionStorage.setItem(OFFERED, "");
  speak(dataset.language ?? "");
});

/* Offer to store the language for the account, which mails and other browsers use. */
function offerToKeep() {
  const language = document.documentElement.lang;
  if (!client.user || client.user.settings.language === language) return;
  const name = one(`[data-language=${language}]`).textContent;
  announce(say("keep language", { language: name }), "wait");
  const work = async () => client.update(await call("PATCH", "/auth/me", { settings: { language } }));
  offer(say("keep language: yes"), (button) => attempt(button, work, say("saved")));
}

takeToken();
announceKept();
const switched = sessionStorage.getItem(OFFERED) !== null;
sessionStorage.removeItem(OFFERED); // now, since a click while the page is made sets it for the next one
await show();
if (switched) offerToKeep();
