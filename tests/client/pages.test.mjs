/* The pages' navigation.js and factors.js in Node, before a document that holds what they look for:
what needs no browser. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";

const USER = { id: "1", account_id: "2", email: "ada@example.com", role: "admin", settings: { language: "en" } };
const session = () => ({ access_token: `x.${btoa(JSON.stringify({ iat: 0, exp: 9e9 }))}.x`, user: USER });

/* An element as far as it is touched: whatever is asked of it besides does nothing. */
const element = (more = {}) =>
  Object.assign(Object.create(null), {
    dataset: { scripts: "" },
    style: {},
    textContent: "",
    hidden: false,
    querySelector: () => null,
    querySelectorAll: () => [],
    setAttribute: () => {},
    before: () => {},
    replaceWith: (made) => (parts.main = made),
    append: () => {},
    focus: () => {},
    close: () => {},
    addEventListener: () => {},
    replaceChildren(...parts) {
      this.textContent = parts.map((part) => part.textContent ?? part).join("");
    },
    ...more,
  });

let parts, api, calls, assigned, pushed, replaced;
const stored = new Map();
const storage = {
  getItem: (name) => stored.get(name) ?? null,
  setItem: (name, value) => stored.set(name, value),
  removeItem: (name) => stored.delete(name),
};
const page = (title) => ({ title, querySelector: () => title.startsWith("{") ? null : element({ title }) });
Object.assign(globalThis, {
  localStorage: storage,
  sessionStorage: storage,
  location: { origin: "http://service.test", pathname: "/login", assign: (path) => assigned.push(path) },
  history: {
    pushState(_, __, path) {
      pushed.push(path);
      location.pathname = path;
    },
    replaceState: (_, __, path) => replaced.push(path),
  },
  scrollTo: () => {},
  BroadcastChannel: class extends EventTarget {
    postMessage() {}
  },
  DOMParser: class {
    parseFromString = page;
  },
  fetch: (path, options) => {
    calls.push(path);
    return api(path, options);
  },
});
Object.defineProperty(globalThis, "navigator", {
  value: { locks: { request: (_, work) => work() } },
  configurable: true,
});
const window_ = new EventTarget();
globalThis.addEventListener = window_.addEventListener.bind(window_);
globalThis.document = Object.assign(new EventTarget(), {
  documentElement: { lang: "en" },
  body: element(),
  getElementById: () => ({ content: element() }),
  createElement: () => element(),
  querySelector: (selector) => parts[selector] ?? null,
  querySelectorAll: () => [],
});

const text = (status, body) => new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
const fresh = () => {
  const main = element();
  const names = ["#status", "#arrived", "#progress", "#said", "#confirm", "[data-company]"];
  parts = { main, ...Object.fromEntries(names.map((name) => [name, element()])) };
  [calls, assigned, pushed, replaced] = [[], [], [], []];
  location.pathname = "/login";
  api = async (path) => text(200, `the page ${path}`);
};
fresh();
const { afterLogIn, call, client, goOn, visit } = await import("../../pages/static/pages/navigation.js");
await import("../../pages/static/pages/factors.js");
const { initialsOf } = await import("../../pages/static/pages/lists.js");
const { attempt, problem } = await import("../../pages/static/pages/screen.js");

beforeEach(fresh);

function click(fields, keys) {
  const link = { origin: location.origin, pathname: "/signup", hash: "", target: "", dataset: {}, ...fields };
  const event = new Event("click", { cancelable: true });
  Object.defineProperty(event, "target", { value: { closest: (kind) => (kind === "a" ? link : null) } });
  document.dispatchEvent(Object.assign(event, keys));
  return event.defaultPrevented;
}

test("a link to a page of ours is followed by the script, and any other by the browser", async () => {
  assert.equal(click(), true);
  const others = [{ origin: "http://else.test" }, { hash: "#main" }, { target: "_blank" }, { dataset: { leave: "" } }];
  for (const other of others) assert.equal(click(other), false, JSON.stringify(other));
  for (const key of ["ctrlKey", "metaKey", "shiftKey"]) assert.equal(click({}, { [key]: true }), false, key);
  await setImmediate();
  assert.deepEqual([calls, pushed], [["/signup"], ["/signup"]]);
});

test("a path that begins with two slashes leads to no other host", async () => {
  await visit("//evil.test/login");
  goOn({ settings: { language: "sv" } }, "//evil.test/login", "");

  assert.deepEqual([...calls, ...pushed, ...assigned], Array(3).fill("/evil.test/login"));
});

test("of two pages the one asked for last is shown, whichever comes first", async () => {
  let come;
  const late = new Promise((resolve) => (come = resolve));
  api = (path) => (path === "/signup" ? late : Promise.resolve(text(200, `the page ${path}`)));
  const first = visit("/signup");
  await visit("/login");

  come(text(200, "the page /signup"));
  await first;

  assert.equal(document.title, "the page /login");
  assert.deepEqual(pushed, ["/login"]);
});

for (const answer of [() => Promise.reject(new TypeError("fetch failed")), async () => text(503, { error: "…" })]) {
  test(`a page that does not come is said, and the one at hand stays: ${answer}`, async () => {
    api = answer;
    const { main } = parts;

    await visit("/signup");

    assert.equal(parts["#status"].textContent, "unreachable");
    assert.equal(parts["#status"].dataset.kind, "bad");
    assert.equal(parts.main, main);
    assert.deepEqual(pushed, []);
  });
}

test("a question ends with its page", async () => {
  const closed = [];
  parts["#confirm"].close = () => closed.push(document.title);

  await visit("/signup");

  assert.equal(closed.length, 1);
});

for (const [there, said] of [[true, "unreachable"], [false, ""]]) {
  test(`an error is ${there ? "said" : "kept quiet"} when its page is ${there ? "shown" : "left"}`, async () => {
    const control = { textContent: "Save", matches: () => false };
    const error = await attempt(control, async () => {
      if (!there) await visit("/signup");
      throw new TypeError("fetch failed");
    });

    assert.equal(error.message, "fetch failed");
    assert.equal(parts["#status"].textContent, said);
  });
}

for (const [status, message, said] of [
  [403, "", "internal error"],
  [403, "unreadable answer", "internal error"],
  [413, "request too large", "invalid request"],
  [413, "", "invalid request"],
  [409, "already invited", "already invited"],
]) {
  test(`${status} "${message}" is told as: ${said}`, () => assert.equal(problem({ status, message, body: {} }), said));
}

test("the browser's back button asks for another page, and a fragment for none", async () => {
  await visit("/signup");
  window_.dispatchEvent(new Event("popstate"));
  assert.deepEqual(calls, ["/signup"]);

  location.pathname = "/login";
  window_.dispatchEvent(new Event("popstate"));

  assert.deepEqual([calls, pushed], [["/signup", "/login"], ["/signup"]]);
});

test("a 403 tells that the role has changed", async () => {
  client.signIn(session());
  api = async (path) => (path === "/auth/me" ? text(200, { ...USER, role: "member" }) : text(403, { error: "forbidden" }));

  await assert.rejects(call("PATCH", "/account", {}), { status: 403 });

  assert.equal(client.user.role, "member");
});

test("a page of the former user's is made anew for another", async () => {
  client.signIn(session());
  parts["main [data-shown], main[aria-busy=true] [data-members]"] = element();
  location.pathname = "/profile";
  client.update({ ...USER, first_name: "Ada" });
  assert.deepEqual(calls.filter((path) => path === "/profile"), []);

  client.signIn({ ...session(), user: { ...USER, id: "3" } });

  assert.deepEqual([calls.filter((path) => path === "/profile"), pushed], [["/profile"], []]);
});

test("a log-in leaves no entry in the way of the back button", async () => {
  await goOn({ settings: { language: "en" } }, "/profile", "");

  assert.deepEqual([pushed, replaced], [[], ["/profile"]]);
});

test("a log-in that no page asked for leads to the account", () => {
  assert.equal(afterLogIn(), "/profile");
});

test("a person's own language is gone on in, by a new document where it is another", () => {
  goOn({ settings: { language: "en" } }, location.pathname, "Saved.");
  assert.deepEqual([assigned, parts["#status"].textContent], [[], "Saved."]);

  goOn({ settings: { language: "sv" } }, "/profile", "Sparat.");

  assert.deepEqual([assigned, stored.get("said")], [["/profile"], "Sparat."]);
  assert.match(document.cookie, /^django_language=sv;/);
});

for (const [name, initials] of [["Ada Lovelace", "AL"], ["Ada", "AD"], ["ö", "Ö"], ["🦊 Fox", "🦊F"], ["👩‍💻🚀", "👩‍💻🚀"], ["ada@example.com", "AC"]]) {
  test(`${name} has the initials ${initials}`, () => assert.equal(initialsOf(name), initials));
}

for (const [typed, sent] of [["123456", "123456"], ["123 456", "123456"], ["123-456", "123456"], ["12345", null], ["1234567", null], ["ABCD-EFGH", null]]) {
  test(`${typed} is ${sent ? "sent at once" : "waited on"}`, () => {
    const forms = [];
    const field = { value: typed, matches: (kind) => kind.includes("one-time-code"), closest: () => null, form: { requestSubmit: () => forms.push(field.value) } };
    const event = new Event("input");
    Object.defineProperty(event, "target", { value: field });

    document.dispatchEvent(event);

    assert.deepEqual(forms, sent ? [sent] : []);
  });
}
