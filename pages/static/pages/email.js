/* A new e-mail address: after its link was used, and the person's data as a file. */

import { remember } from "./forms.js";
import { call, client, signOut, visit } from "./navigation.js";
import { attempt, download, say } from "./screen.js";

/* The link was used up. The session goes on under the new address. An undo has ended all sessions,
and someone else may know the password, so the next step is to set a new one. */
async function used(form) {
  sessionStorage.removeItem(`link:${location.pathname}`);
  const text = say(form.dataset.say);
  if (form.dataset.emailChange === "undo") {
    if (client.lastRole) await signOut();
    remember(form.elements.username.value);
    return visit("/forgot-password", { text });
  }
  if (client.user) client.update(await call("GET", "/auth/me"));
  return visit(client.lastRole ? "/profile" : "/login", { text });
}

document.addEventListener("done", ({ target }) => {
  if (target.matches("form[data-email-change]")) used(target);
});

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-own-data]");
  if (!button) return;
  attempt(button, async () => {
    const data = await call("GET", "/auth/me/data");
    while (data.next) {
      const older = await call("GET", `/auth/me/data?before=${data.next}`);
      data.trail.push(...older.trail);
      data.next = older.next;
    }
    download("my-data.json", "application/json", JSON.stringify(data, null, 2));
  });
});
