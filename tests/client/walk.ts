/* The main walk with a client whose types are made from the schema: a wrong path, field or answer
does not compile. Called with the service's address and the folder that its mails are written to. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./made/schema.js";

const [, , baseUrl, mails] = process.argv;
assert(baseUrl && mails);
const api = createClient<paths>({ baseUrl });
const password = "correct horse battery";

async function mailedToken(page: string): Promise<string> {
  for (let tries = 0; tries < 100; tries += 1) {
    for (const name of readdirSync(mails!)) {
      const text = readFileSync(`${mails}/${name}`, "utf8");
      const found = new RegExp(`/${page}#token=([\\w-]{64})`).exec(text);
      if (found?.[1]) return found[1];
    }
    await pause(100);
  }
  throw new Error(`no mail for ${page}`);
}

function bearer(auth: components["schemas"]["AuthResponse"]) {
  return { Authorization: `Bearer ${auth.access_token}` };
}

await api.POST("/auth/signup", { body: { email: "ada@example.com" } });
const completed = await api.POST("/auth/complete-signup", {
  body: {
    token: await mailedToken("complete-signup"),
    account_name: "Analytical Engines",
    first_name: "Ada",
    last_name: "Lovelace",
    password,
  },
});
assert(completed.data);

const refused = await api.POST("/auth/login", { body: { email: "ada@example.com", password: "no" } });
assert(refused.error);
assert.equal(refused.error.error, "wrong e-mail or password" satisfies typeof refused.error.error);

const login = await api.POST("/auth/login", { body: { email: "ada@example.com", password } });
assert(login.data);
const fresh = await api.POST("/auth/refresh", { body: { refresh_token: login.data.refresh_token } });
assert(fresh.data);
const ada = bearer(fresh.data);
const me = await api.PATCH("/auth/me", { headers: ada, body: { settings: { language: "sv" } } });
assert.equal(me.data?.settings.language, "sv");

const invitation = await api.POST("/invitations", { headers: ada, body: { email: "bob@example.com" } });
assert(invitation.data && "status" in invitation.data);
assert.equal(invitation.data.status, "pending");
const accepted = await api.POST("/invitations/accept", {
  body: { token: await mailedToken("accept-invitation"), first_name: "Bob", last_name: "Boole", password },
});
assert.equal(accepted.data?.user.role, "member");

const users = await api.GET("/users", { headers: ada, params: { query: { per_page: 1, search: "boole" } } });
const bob = users.data?.items[0];
assert(bob);
const promoted = await api.PATCH("/users/{user_id}", {
  headers: ada,
  params: { path: { user_id: bob.id } },
  body: { role: "admin" },
});
assert.equal(promoted.data?.role, "admin");

const out = await api.POST("/auth/logout-everywhere", { headers: ada });
assert.equal(out.response.status, 204);
const gone = await api.GET("/auth/me", { headers: ada });
assert.equal(gone.error?.error, "missing or invalid token");
