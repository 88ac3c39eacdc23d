/* The installed package under Vitest without a DOM, as on a server: there is no page, tab or storage. */

import { Client, Refused, makeChallenge } from "consulting-management-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const API = "http://api.test";
const part = (claims) => Buffer.from(JSON.stringify(claims)).toString("base64url");
const session = (id) => ({
  access_token: `${part({})}.${part({ iat: 0, exp: 3600, id })}.x`,
  refresh_token: "refresh",
  user: { id, role: "admin" },
});

beforeEach(() => vi.stubGlobal("fetch", vi.fn(async () => Response.json({ id: "1" }))));
afterEach(() => vi.unstubAllGlobals());

test("one user's session stays in one client", async () => {
  const [ada, bob] = [new Client({ baseUrl: API }), new Client({ baseUrl: API })];
  let changes = 0;
  bob.addEventListener("change", () => (changes += 1));

  ada.signIn(session("1"));
  await ada.call("GET", "/auth/me");
  fetch.mockImplementation(async () => Response.json({ error: "no session" }, { status: 401 }));
  await expect(bob.refresh()).rejects.toThrow(Refused);

  expect([ada.user.id, ada.lastRole, bob.user]).toEqual(["1", null, null]);
  expect(changes).toBe(1); // its own refresh, which was refused
});

test("a sign-in at a provider begins nowhere but fails nowhere", async () => {
  expect(await makeChallenge()).toHaveLength(43);
});

test("an error of fetch has no hint", async () => {
  fetch.mockImplementation(async () => {
    throw new TypeError("fetch failed");
  });

  const error = await new Client({ baseUrl: API }).send("GET", "/health").catch((error) => error);

  expect([error.name, error.hint, fetch.mock.calls.length]).toEqual(["TypeError", undefined, 1]);
});
