/* Brings the pages to life. */

import "./factors.js";
import { takeToken } from "./forms.js";
import "./email.js";
import "./lists.js";
import "./people.js";
import { call, client, show, signOut, speak } from "./navigation.js";
import "./passkeys.js";
import { announceKept, attempt, confirmed, say } from "./screen.js";
import "../signin/show.js";

async function leave(button) {
  const everywhere = button.dataset.signOut === "everywhere";
  if (everywhere) {
    const sure = [say("sign out everywhere: sure"), say("sign out everywhere: then")];
    if (!(await confirmed(button, ...sure))) return;
  }
  await attempt(button, () => signOut(everywhere));
}

async function choose(language) {
  if (client.user) client.update(await call("PATCH", "/auth/me", { settings: { language } }));
  speak(language);
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.language) attempt(button, () => choose(button.dataset.language));
  if (button && "signOut" in button.dataset) leave(button);
});

takeToken();
announceKept();
show();
