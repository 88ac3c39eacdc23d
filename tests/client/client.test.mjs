/* The session of client.js in Node, before an API that a test plays: what needs no browser. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";

const HOUR = 3600;
const USER = { id: "1", account_id: "2", email: "ada@example.com", role: "admin" };

const tabs = [];
const stored = new Map();
let api, calls, ahead, locked, probe;

const now = Date.now;
Date.now = () => now() + ahead;

globalThis.location = new URL("http://service.test");
globalThis.localStorage = {
  getItem: (name) => stored.get(name) ?? null,
  setItem: (name, value) => stored.set(name, value),
  removeItem: (name) => stored.delete(name),
};
globalThis.sessionStorage = globalThis.localStorage;
globalThis.BroadcastChannel = class extends BroadcastChannel {
  constructor(name) {
    super(name);
    this.unref();
    tabs.push(this);
  }
};
// Web Locks: one at a time.
const request = (_, { signal }, work) => {
  assert(signal instanceof AbortSignal);
  return (locked = locked.then(work, work));
};
Object.defineProperty(globalThis, "navigator", { value: { locks: { request } }, configurable: true });
globalThis.fetch = async (url, { method, headers, body, mode, signal }) => {
  if (mode === "no-cors") return probe();
  signal?.throwIfAborted();
  const call = { path: `${method} ${url}`, bearer: headers.Authorization, body: body && JSON.parse(body) };
  calls.push(call);
  const [status, answer, more] = await api[call.path](call);
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  return new Response(status === 204 ? null : text, { status, headers: more });
};

const { Client, credentialToJSON, Refused } = await import("../../pages/static/pages/client.js");

const part = (claims) => Buffer.from(JSON.stringify(claims)).toString("base64url");
let issued = 0;

function session(life = HOUR) {
  const iat = Math.floor(Date.now() / 1000);
  const access_token = `${part({})}.${part({ iat, exp: iat + life, jti: (issued += 1) })}.x`;
  return { access_token, refresh_token: `refresh ${issued}`, token_type: "Bearer", user: USER };
}

const asked = (path) => calls.filter((call) => call.path === path);
const refreshes = () => asked("POST /auth/refresh");
const refusal = (status) => (error) =>
  error instanceof Refused && error.name === "Refused" && error.status === status;

beforeEach(() => {
  [calls, ahead, locked] = [[], 0, Promise.resolve()];
  stored.clear();
  api = {
    "GET /auth/me": () => [200, USER],
    "POST /auth/refresh": () => [200, session()],
    "POST /auth/logout": () => [204],
    "GET /gone": () => [204],
  };
});
afterEach(() => tabs.splice(0).forEach((tab) => tab.close()));

function signedIn(life, options) {
  const client = new Client(options);
  client.signIn(session(life));
  return client;
}

test("many calls with an old token refresh once", async () => {
  const client = signedIn();
  ahead = HOUR * 1000;

  await Promise.all(Array.from({ length: 5 }, () => client.call("GET", "/auth/me")));

  assert.equal(refreshes().length, 1);
  assert.equal(new Set(asked("GET /auth/me").map(({ bearer }) => bearer)).size, 1);
});

for (const [life, fresh, old] of [[HOUR, HOUR - 31, HOUR - 29], [100, 79, 81]]) {
  test(`a token of ${life} s is old after ${old} s`, async () => {
    const client = signedIn(life);
    ahead = fresh * 1000;
    await client.call("GET", "/auth/me");
    assert.equal(refreshes().length, 0);

    ahead = old * 1000;
    await client.call("GET", "/auth/me");

    assert.equal(refreshes().length, 1);
  });
}

test("a 401 refreshes and repeats the call", async () => {
  const client = signedIn();
  api["GET /auth/me"] = () => (refreshes().length ? [200, USER] : [401, { error: "expired" }]);

  assert.deepEqual(await client.call("GET", "/auth/me"), USER);
  assert.equal(refreshes().length, 1);
});

test("a second 401 signs out", async () => {
  const client = signedIn();
  api["GET /auth/me"] = () => [401, { error: "revoked" }];

  await assert.rejects(client.call("GET", "/auth/me"), refusal(401));

  assert.deepEqual([client.user, client.lastRole], [null, null]);
});

test("a refused refresh signs out, and an unreachable API does not", async () => {
  const client = signedIn();
  ahead = HOUR * 1000;
  api["POST /auth/refresh"] = () => {
    throw new TypeError("fetch failed");
  };
  await assert.rejects(client.call("GET", "/auth/me"), TypeError);
  assert.equal(client.lastRole, "admin");

  api["POST /auth/refresh"] = () => [401, { error: "invalid or expired refresh token" }];
  await assert.rejects(client.call("GET", "/auth/me"), refusal(401));

  assert.deepEqual([client.user, client.lastRole], [null, null]);
});

test("a 429 is waited for as long as it says, and told", async () => {
  const client = signedIn();
  const told = [];
  client.addEventListener("wait", ({ detail }) => told.push(detail));
  client.addEventListener("resume", () => told.push("resume"));
  const limited = [429, { error: "rate limit exceeded" }, { "Retry-After": "0.02" }];
  api["GET /auth/me"] = () => (asked("GET /auth/me").length > 2 ? [200, USER] : limited);

  await client.call("GET", "/auth/me");

  const waits = [1, 2].map((times) => ({ seconds: 0.02, times }));
  assert.deepEqual(told, [waits[0], "resume", waits[1], "resume"]);
});

test("a log-in that is refused in a burst is repeated once", async () => {
  const busy = [503, { error: "service unavailable" }, { "Retry-After": "0.02" }];
  const client = new Client();
  const answers = [busy, [200, session()], busy, busy];
  api["POST /auth/login"] = () => answers.shift();

  const signedIn = await client.send("POST", "/auth/login", {});
  await assert.rejects(client.send("POST", "/auth/login", {}), refusal(503));

  assert.equal(signedIn.user.id, USER.id);
  assert.equal(asked("POST /auth/login").length, 4);
});

test("an outage is told at once", async () => {
  for (const more of [{}, { "Retry-After": "5" }]) {
    api["POST /auth/login"] = () => [503, { error: "service unavailable" }, more];
    await assert.rejects(new Client().send("POST", "/auth/login", {}), refusal(503));
  }

  assert.equal(asked("POST /auth/login").length, 2);
});

test("log-ins and proofs are not repeated after a 429", async () => {
  const client = signedIn();
  const limited = () => [429, { error: "too many attempts" }, { "Retry-After": "7" }];
  api["POST /auth/login"] = api["POST /auth/factors/totp"] = limited;

  await assert.rejects(client.send("POST", "/auth/login", {}), { wait: 7 });
  await assert.rejects(client.addApp({ password: "x" }), { wait: 7 });

  assert.equal(calls.length, 2);
});

test("a 503 says how long to wait, if the service does", async () => {
  const client = new Client();
  api["POST /auth/login"] = () => [503, { error: "service unavailable" }, { "Retry-After": "0.02" }];
  await assert.rejects(client.send("POST", "/auth/login", {}), { status: 503, wait: 0.02 });

  api["POST /auth/login"] = () => [503, { error: "service unavailable" }];
  await assert.rejects(client.send("POST", "/auth/login", {}), { status: 503, wait: 0 });
});

test("answers without a body, and pages of a proxy, are understood", async () => {
  const client = signedIn();
  api["GET /auth/me"] = () => [502, "<html>Bad gateway</html>"];

  assert.equal(await client.call("GET", "/gone"), null);
  await assert.rejects(client.call("GET", "/auth/me"), { status: 502, message: "unreadable answer" });
});

test("a second tab takes over the session without a refresh", async () => {
  signedIn();
  const second = new Client();

  await second.refresh();

  assert.deepEqual(second.user, USER);
  assert.equal(calls.length, 0);
});

test("two tabs with an old token refresh once", async () => {
  const first = signedIn();
  const second = new Client();
  await second.refresh();
  ahead = HOUR * 1000;

  await Promise.all([first, second].map((client) => client.call("GET", "/auth/me")));

  assert.equal(refreshes().length, 1);
});

test("signing out reaches the other tabs, also where the session has ended", async () => {
  const first = signedIn();
  const second = new Client();
  await second.refresh();
  const signedOut = new Promise((resolve) => second.addEventListener("change", resolve));
  api["POST /auth/logout"] = () => [401, { error: "revoked" }];

  await first.signOut();

  await signedOut;
  assert.deepEqual([first.user, second.user, second.lastRole], [null, null, null]);
});

test("a sign-in waits for the refresh of another tab, whose 401 clears the cookie", { timeout: 10_000 }, async () => {
  let refuse;
  api["POST /auth/refresh"] = () => new Promise((resolve) => (refuse = () => resolve([401, { error: "expired" }])));
  api["POST /auth/login"] = () => [200, session()];
  const refreshed = new Client().refresh();
  const second = new Client();
  const login = second.send("POST", "/auth/login", {}).then((answer) => second.signIn(answer));
  while (!refuse) await new Promise((resolve) => setTimeout(resolve, 20));
  const early = asked("POST /auth/login").length;

  refuse();

  await assert.rejects(refreshed, refusal(401));
  await login;
  assert.deepEqual([early, second.user], [0, USER]);
});

for (const name of ["SecurityError", "TimeoutError"]) {
  test(`without the lock a tab refreshes by itself: ${name}`, async (t) => {
    const { locks } = navigator;
    t.after(() => (navigator.locks = locks));
    navigator.locks = { request: async () => Promise.reject(new DOMException("no lock", name)) };
    const client = signedIn();
    ahead = HOUR * 1000;

    assert.deepEqual(await client.call("GET", "/auth/me"), USER);
    api["POST /auth/refresh"] = () => [401, { error: "expired" }];
    ahead = 2 * HOUR * 1000;
    await assert.rejects(client.call("GET", "/auth/me"), refusal(401));

    assert.equal(refreshes().length, 2);
  });
}

test("clients on a server, of different users, don't wait for one another", { timeout: 10_000 }, async (t) => {
  const { location } = globalThis;
  t.after(() => (globalThis.location = location));
  delete globalThis.location;
  locked = new Promise(() => {});
  api["POST /auth/login"] = () => [200, session()];

  const answers = await Promise.all([1, 2].map(() => new Client().send("POST", "/auth/login", {})));

  assert.equal(answers.length, 2);
});

for (const [everywhere, waits] of [[false, 0], [true, 1]]) {
  test(`a limit on refreshes delays a sign-out everywhere alone: ${everywhere}`, async () => {
    const client = signedIn();
    let waited = 0;
    client.addEventListener("wait", () => (waited += 1));
    ahead = HOUR * 1000;
    const limited = [429, { error: "too many attempts" }, { "Retry-After": "0.02" }];
    api["POST /auth/refresh"] = () => (refreshes().length < 2 ? limited : [200, session()]);
    api["POST /auth/logout"] = () => [401, { error: "missing or invalid token" }];
    api["POST /auth/logout-everywhere"] = () => [204];

    await client.signOut({ everywhere });

    assert.deepEqual([waited, client.user, client.lastRole], [waits, null, null]);
    assert.equal(calls.length, everywhere ? 3 : 2);
  });
}

test("a sign-out during a refresh does not refresh again", async () => {
  const client = signedIn();
  ahead = HOUR * 1000;

  await Promise.all([client.refresh(), client.signOut()]);

  assert.deepEqual([client.user, refreshes().length], [null, 1]);
});

/** A function that shows a page again: one that the browser has kept or, if not `persisted`, has loaded. */
function listenForShows(t) {
  const shown = [];
  globalThis.addEventListener = (type, listener) => type === "pageshow" && shown.push(listener);
  t.after(() => delete globalThis.addEventListener);
  return (persisted) => shown.forEach((listener) => listener({ persisted }));
}

test("a kept page that is shown again has no session if another tab has signed out", async (t) => {
  const show = listenForShows(t);
  const client = signedIn();

  show(true);
  assert.deepEqual(client.user, USER);
  stored.clear();
  show(false);
  assert.deepEqual(client.user, USER);
  show(true);

  assert.equal(client.user, null);
});

test("a kept page whose storage is full has its session when it is shown again", async (t) => {
  const show = listenForShows(t);
  t.mock.method(localStorage, "setItem", () => {
    throw new DOMException("full", "QuotaExceededError");
  });
  const client = signedIn();

  show(true);

  assert.deepEqual([client.user, client.lastRole], [USER, null]);
});

test("a kept page that is shown again takes over another tab's session", async (t) => {
  const show = listenForShows(t);
  const client = signedIn();
  const newSession = { access: "x.y.z", ends: Infinity, user: { ...USER, id: "3", role: "member" } };
  const otherTab = new BroadcastChannel("session of http://service.test");
  otherTab.addEventListener("message", ({ data }) => data.wanted && otherTab.postMessage({ session: newSession }));

  show(true);
  await new Promise((resolve) => setTimeout(resolve, 200));

  assert.deepEqual([client.user, client.lastRole], [newSession.user, "member"]);
});

const octets = (text) => new TextEncoder().encode(text).buffer;
for (const [name, credential] of Object.entries({
  "none": {},
  "one that throws": { toJSON() { throw new TypeError("Illegal invocation"); } },
})) {
  test(`a password manager's credential has a toJSON or not: ${name}`, () => {
    const response = { clientDataJSON: octets("{}"), authenticatorData: octets("?>?"), signature: octets("s") };
    response.userHandle = null;
    const passkey = { ...credential, id: "whatever", rawId: octets("id"), type: "public-key", response };

    assert.deepEqual(credentialToJSON(passkey), {
      id: "aWQ", rawId: "aWQ", type: "public-key", clientExtensionResults: {},
      response: { clientDataJSON: "e30", authenticatorData: "Pz4_", signature: "cw" },
    });
  });
}

test("a kept refresh token is sent in the body, and stored nowhere", async () => {
  const client = signedIn(HOUR, { refreshToken: "memory" });
  const kept = `refresh ${issued}`;
  ahead = HOUR * 1000;

  await client.call("GET", "/auth/me");

  assert.deepEqual(refreshes()[0].body, { refresh_token: kept });
  assert.deepEqual([...stored.values()], ["admin"]);
});

test("a sign-in at a provider keeps its verifier until a code was redeemed with it", async () => {
  const answers = [[400, { error: "invalid or expired code" }], [200, session()]];
  api["POST /auth/sso"] = () => [200, { company: "Nordwind", url: "http://there.test", required: false }];
  api["POST /auth/sso/redeem"] = () => answers.shift();
  const client = new Client();

  await client.findProvider("ada@example.com");
  await client.findProvider("ada@example.com");
  await assert.rejects(client.logInByProvider("wrong"), refusal(400));
  await client.logInByProvider("code");
  await client.findProvider("ada@example.com");

  const challenges = asked("POST /auth/sso").map(({ body }) => body.challenge);
  const [wrong, right] = asked("POST /auth/sso/redeem").map(({ body }) => body);
  const hash = createHash("sha256").update(right.verifier).digest("base64url");
  assert.deepEqual([wrong.verifier, right.code], [right.verifier, "code"]);
  assert.deepEqual(challenges.slice(0, 2), [hash, hash]);
  assert.notEqual(challenges[2], hash);
});

test("a code in a tab that has begun nothing is refused by the API", async () => {
  api["POST /auth/sso/redeem"] = () => [400, { error: "invalid or expired code" }];

  await assert.rejects(new Client().logInByProvider("code"), refusal(400));
});

test("a signal ends a call while it waits, and the user is told that it goes on", { timeout: 10_000 }, async () => {
  const client = signedIn();
  const abort = new AbortController();
  let resumed = 0;
  api["GET /auth/me"] = () => [429, { error: "rate limit exceeded" }, { "Retry-After": "60" }];
  client.addEventListener("wait", () => abort.abort());
  client.addEventListener("resume", () => (resumed += 1));

  const call = client.call("GET", "/auth/me", undefined, { signal: abort.signal });

  await assert.rejects(call, { name: "AbortError" });
  assert.deepEqual([resumed, calls.length], [1, 1]);
});

test("a signal ends one call, and not the refresh that others wait for", async () => {
  const client = signedIn();
  ahead = HOUR * 1000;
  const abort = new AbortController();
  const ended = client.call("GET", "/auth/me", undefined, { signal: abort.signal });
  const other = client.call("GET", "/auth/me");
  abort.abort();

  await assert.rejects(ended, { name: "AbortError" });
  await assert.rejects(client.send("GET", "/health", undefined, { signal: abort.signal }), { name: "AbortError" });
  assert.deepEqual(await other, USER);
  assert.deepEqual([refreshes().length, asked("GET /auth/me").length], [1, 1]);
});

test("a signal ends a sign-in that waits for another tab", { timeout: 5_000 }, async (t) => {
  const { locks } = navigator;
  t.after(() => (navigator.locks = locks));
  const never = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  navigator.locks = { request: never };
  const reason = new Error("the user has left");
  const abort = new AbortController();
  const login = new Client().send("POST", "/auth/login", {}, { signal: abort.signal });

  abort.abort(reason);

  await assert.rejects(login, reason);
  assert.equal(calls.length, 0);
});

for (const [page, baseUrl, reachable, hint] of [
  ["localhost", "http://127.0.0.1:8000", true, /localhost and 127\.0\.0\.1 are different sites/],
  ["[::1]", "http://localhost:8000", false, /different sites/],
  ["app.test", "http://api.test", true, /takes no calls from http:\/\/app\.test/],
  ["app.test", "http://api.test", false, undefined],
  ["localhost", "http://localhost:8000", true, /CORS_ALLOWED_ORIGINS/],
  ["app.test", "http://app.test", true, undefined],
  ["app.test", "", true, undefined],
]) {
  const name = `a call from ${page} to ${baseUrl || "its own origin"} that ${reachable ? "is refused" : "finds nothing"}`;
  test(`${name} ${hint ? "says why" : "says no more than fetch"}`, async (t) => {
    const { location } = globalThis;
    t.after(() => (globalThis.location = location));
    globalThis.location = new URL(`http://${page}`);
    api[`POST ${baseUrl}/auth/login`] = () => {
      throw new TypeError("Failed to fetch");
    };
    probe = async () => {
      if (!reachable) throw new TypeError("Failed to fetch");
      return new Response();
    };

    const error = await new Client({ baseUrl }).send("POST", "/auth/login", {}).catch((error) => error);

    assert.equal(error.message, "Failed to fetch");
    if (hint) assert.match(error.hint, hint);
    else assert.equal(error.hint, undefined);
  });
}

test("a page whose storage is full keeps its session in memory", async (t) => {
  t.mock.method(localStorage, "setItem", () => {
    throw new DOMException("full", "QuotaExceededError");
  });
  const client = new Client();
  let changes = 0;
  client.addEventListener("change", () => (changes += 1));

  client.signIn(session());

  assert.deepEqual([await client.call("GET", "/auth/me"), changes, client.lastRole], [USER, 1, null]);
});

test("a page whose storage is blocked keeps its session in memory", async (t) => {
  const { localStorage, sessionStorage } = globalThis;
  t.after(() => {
    for (const [name, value] of Object.entries({ localStorage, sessionStorage }))
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  });
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(globalThis, name, {
      configurable: true,
      get() {
        throw new DOMException("blocked", "SecurityError");
      },
    });

  const client = signedIn();

  assert.deepEqual([await client.call("GET", "/auth/me"), client.lastRole], [USER, null]);
});
