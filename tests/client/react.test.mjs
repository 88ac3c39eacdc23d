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

/** Load a page whose user has signed in before. `answers` are those of its refreshes: functions. */
function load(t, host, answers) {
  const seconds = [];
  t.mock.method(globalThis, "setTimeout", (work, milliseconds) => {
    if (milliseconds >= 1000) seconds.push(milliseconds / 1000); // the others wait for the answers of tabs
    return wait(work, 20);
  });
  globalThis.fetch = async (_, { mode }) => {
    if (mode === "no-cors") return fail(); // asks why the call before got no answer
    return (answers.length > 1 ? answers.shift() : answers[0])();
  };
  const baseUrl = `http://${host}`; // of one client: others would be its tabs
  stored.set(`session of ${baseUrl}`, "admin");
  const client = useClient({ baseUrl });
  const users = [];
  client.addEventListener("change", () => users.push(useUser(client)));
  users.push(useUser(client));
  return { client, users, seconds };
}

const answer = (status, body, headers) => () => Response.json(body, { status, headers });
const refuse = (status, headers) => answer(status, { error: "refused" }, headers);
const fail = () => {
  throw new TypeError("fetch failed");
};

for (const [outcome, last, user] of [
  ["is restored", answer(200, SESSION), USER],
  ["that has ended is over", refuse(401), null],
]) {
  test(`after an outage the session of a loaded page ${outcome}`, { timeout: 10_000 }, async (t) => {
    const { users, seconds } = load(t, user ? "back.test" : "over.test", [
      refuse(502), fail, refuse(429, { "Retry-After": "2" }), last,
    ]);

    while (users.at(-1) === undefined) await new Promise((resolve) => wait(resolve, 20));

    assert.deepEqual([users[0], users.at(-1), seconds.length], [undefined, user, 3]);
    assert(!users.slice(0, -1).includes(null));
  });
}

for (const status of [403, 404])
  test(`a refresh that a ${status} refuses is not tried again`, { timeout: 10_000 }, async (t) => {
    const { users, seconds } = load(t, `${status}.test`, [refuse(status)]);

    while (users.at(-1) === undefined) await new Promise((resolve) => wait(resolve, 20));

    assert.deepEqual([users.at(-1), seconds], [null, []]);
  });

for (const [retryAfter, headers] of [[0, {}], [5, { "Retry-After": "5" }]])
  test(`in an outage the pauses grow: Retry-After ${retryAfter}`, { timeout: 10_000 }, async (t) => {
    const { client, seconds } = load(t, `pauses-${retryAfter}.test`, [refuse(503, headers)]);

    while (seconds.length < 7) await new Promise((resolve) => wait(resolve, 20));
    client.signIn(SESSION); // ends the attempts

    [3, 6, 12, 24, 48, 60, 60].forEach((longest, n) => {
      assert(seconds[n] >= retryAfter + longest / 2 && seconds[n] <= retryAfter + longest, `${n}: ${seconds[n]}`);
    });
  });

test("a session that ends in another tab isn't waited for", { timeout: 10_000 }, async (t) => {
  const { client, users } = load(t, "other-tab.test", [refuse(502)]);
  t.mock.method(globalThis, "setTimeout", (work, milliseconds) => milliseconds < 1000 && wait(work, 20));
  const otherTab = new BroadcastChannel("session of http://other-tab.test");
  t.after(() => otherTab.close());
  await new Promise((resolve) => wait(resolve, 200));
  assert.deepEqual([client.user, users.at(-1)], [null, undefined]);

  otherTab.postMessage({ session: null });
  while (users.at(-1) === undefined) await new Promise((resolve) => wait(resolve, 20));

  assert.equal(users.at(-1), null);
});
