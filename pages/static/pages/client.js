/* How a front-end keeps a session with this API.

The access token lives in this module's memory only; the refresh token in an HttpOnly cookie that no
script sees. A session is refreshed shortly before its access token ends and once on a 401; a second
401 signs out. The tabs of a browser share one session: they tell each other of it, and one at a
time refreshes (which the API does not need, but which spares its limits). */

const EARLY = 30_000; // milliseconds before its end at which an access token counts as old
const PATIENCE = 100; // milliseconds in which another tab may hand over its session
const HINT = "signed-in"; // in localStorage, no secret: whether a refresh is worth a try

let session = null; // {access, ends, user}
let refreshing = null;
const tabs = "BroadcastChannel" in window ? new BroadcastChannel("session") : new EventTarget();
const tell = (news) => tabs.postMessage?.(news);
export const changes = new EventTarget(); // a "change" event whenever somebody signs in or out

/* An answer that is an error: its status, its body, and the seconds to wait of a 429. */
export class Refused extends Error {
  constructor(status, body, wait) {
    super(body.error);
    Object.assign(this, { status, body, wait });
  }
}

export const user = () => session?.user ?? null;
export const mayBeSignedIn = () => Boolean(session || localStorage.getItem(HINT));
const isFresh = () => session !== null && Date.now() < session.ends - EARLY;
// Without Web Locks (plain HTTP on another host than this machine) tabs refresh side by side.
const alone = (work) => (navigator.locks ? navigator.locks.request("session", work) : work());

export async function send(method, path, body, access) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (access) headers.Authorization = `Bearer ${access}`;
  const response = await fetch(path, { method, headers, body: JSON.stringify(body) });
  if (response.status === 204) return null;
  const answer = await response.json();
  if (response.ok) return answer;
  throw new Refused(response.status, answer, Number(response.headers.get("Retry-After")));
}

/* A protected call, with all that keeps a session alive around it. */
export async function call(method, path, body) {
  if (!isFresh()) await refresh();
  try {
    return await send(method, path, body, session.access);
  } catch (error) {
    if (error.status !== 401) throw error;
  }
  await refresh();
  try {
    return await send(method, path, body, session.access);
  } catch (error) {
    if (error.status === 401) forget();
    throw error;
  }
}

export function refresh() {
  const old = session?.access;
  refreshing ??= alone(() => renew(old)).finally(() => (refreshing = null));
  return refreshing;
}

async function renew(old) {
  if (isFresh() && session.access !== old) return; // another tab has, while this one queued
  const found = await askTabs(old);
  if (found) return adopt(found);
  try {
    signIn(await send("POST", "/auth/refresh", {}));
  } catch (error) {
    if (error.status === 401) forget();
    throw error;
  }
}

/* Keep an AuthResponse as the session, in every tab. */
export function signIn({ access_token: access, user }) {
  const payload = access.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
  const { iat, exp } = JSON.parse(atob(payload));
  // Counted from now: the clocks of the two sides may differ.
  adopt({ access, user, ends: Date.now() + (exp - iat) * 1000 });
  tell({ session });
}

/* The user as a call has just answered it. */
export function update(user) {
  adopt({ ...session, user });
  tell({ session });
}

/* Sign out here, or with the path of that call everywhere. No refresh of another tab may fall in
between: it would set the cookie again. A 401 means that the session has ended already. */
export async function signOut(path) {
  if (!isFresh()) await refresh();
  try {
    await alone(() => send("POST", path, undefined, session?.access));
  } catch (error) {
    if (error.status !== 401) throw error;
  }
  forget();
}

function forget() {
  adopt(null);
  tell({ session });
}

function adopt(next) {
  session = next;
  if (next) localStorage.setItem(HINT, "1");
  else localStorage.removeItem(HINT);
  changes.dispatchEvent(new Event("change"));
}

function askTabs(old) {
  return new Promise((resolve) => {
    const hear = ({ data }) => data.session && data.session.access !== old && resolve(data.session);
    tabs.addEventListener("message", hear);
    tell({ wanted: old ?? "any" });
    setTimeout(() => {
      tabs.removeEventListener("message", hear);
      resolve(null);
    }, PATIENCE);
  });
}

tabs.addEventListener("message", ({ data }) => {
  if ("session" in data) adopt(data.session);
  else if (isFresh() && session.access !== data.wanted) tell({ session });
});
