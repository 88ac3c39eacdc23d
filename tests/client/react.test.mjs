/* The hooks of the npm package in Node, before a React and an API that a test plays. */

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

const REACT = `data:text/javascript,${encodeURIComponent(`
  export const useCallback = (work) => work;
  export const useState = (make) => [make()];
  export const useSyncExternalStore = (listen, read) => (listen(() => {}), read());
`)}`;
const CLIENT = new URL("../../pages/static/pages/client.js", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`
  const urls = { react: ${JSON.stringify(REACT)}, "./client.js": ${JSON.stringify(CLIENT)} };
  export const resolve = (name, context, next) => (urls[name] ? { url: urls[name], shortCircuit: true } : next(name, context));
`)}`);

const USER = { id: "1", email: "ada@example.com", role: "admin" };
const part = (claims) => Buffer.from(JSON.stringify(claims)).toString("base64url");
const SESSION = { access_token: `x.${part({ iat: 0, exp: 3600 })}.x`, user: USER };
const wait = setTimeout;
const stored = new Map();

globalThis.location = new URL("http://service.test");
globalThis.localStorage = {
  getItem: (name) => stored.get(name) ?? null,
  setItem: (name, value) => stored.set(name, value),
  removeItem: (name) => stored.delete(name),
};

const { useClient, useUser } = await import("../../package/react.js");

for (const [outcome, status, answer, user] of [
  ["is restored", 200, SESSION, USER],
  ["that has ended is over", 401, { error: "invalid or expired refresh token" }, null],
]) {
  test(`after an outage the session of a loaded page ${outcome}`, { timeout: 10_000 }, async (t) => {
    t.mock.method(globalThis, "setTimeout", (work) => wait(work, 20));
    const answers = [[502, { error: "bad gateway" }], [status, answer]];
    globalThis.fetch = async () => {
      const [status, body] = answers.shift();
      return Response.json(body, { status });
    };
    const baseUrl = `http://${status}.test`; // of one client: others would be its tabs
    stored.set(`session of ${baseUrl}`, "admin");
    const client = useClient({ baseUrl });
    const users = [];
    client.addEventListener("change", () => users.push(useUser(client)));

    users.push(useUser(client));
    while (answers.length || users.at(-1) === undefined) await new Promise((resolve) => wait(resolve, 20));

    assert.deepEqual([users[0], users.at(-1)], [undefined, user]);
    assert(!users.slice(0, -1).includes(null));
  });
}
