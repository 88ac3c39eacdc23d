/* A client that keeps a browser's session with this API: one file without dependencies. `make package` makes an npm
package of it, or copy it into your front-end; docs/integrating.md describes its use.

The access token is kept in this module's memory only; the refresh token in an HttpOnly cookie, and on
request also in memory (`refreshToken`). A session is refreshed shortly before its access token ends,
and once on a 401; a second 401 signs out. The tabs of a browser share one session, and only one of
them refreshes at a time, which saves requests.

On a server, which has no page, a client can be made and calls the API. It stores nothing and hears of no other
client: those of one process may be of different users. */

/** @import { Arguments, CallOptions, Path, Result } from "./calls.js" */
/** @import { components } from "./schema.js" */

const EARLY = 30_000; // milliseconds before its end at which an access token counts as old,
const SHARE = 0.2; // or this share of its life, if that is less
const PATIENCE = 100; // milliseconds in which another tab may hand over its session
const BUSY = 3; // seconds: a 503 that names more is an outage, and not a burst of sign-ins
const TIMEOUT = 30_000; // milliseconds after which an answer is no longer waited for
const LOCK = 10_000; // milliseconds after which other tabs are no longer waited for
const PROBE = 2_000; // milliseconds in which an API that refused a call shows that it is there
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];
// Calls that set the refresh cookie. A refresh with the former one in another tab must not clear it afterwards.
const SIGNS_IN = new RegExp(
  "^/(auth/(login|register|complete-signup|password|passkeys/login|sso/redeem|factors/(totp/confirm|passkeys))" +
    "|invitations/accept|password-changes/redeem)$",
);
const VERIFIER = "sso-verifier"; // in sessionStorage: shows that this tab began a sign-in at a provider

/** @typedef {components["schemas"]["UserResponse"]} User */
/** The answer of every call that signs in. @typedef {components["schemas"]["AuthResponse"]} AuthResponse */

/**
 * The body of an error. After a failed validation `fields` has messages by field, and `codes` their codes.
 * @typedef {object} ErrorBody
 * @property {string} error
 * @property {string} [message]
 * @property {Record<string, any>} [fields]
 * @property {Record<string, any>} [codes]
 * @property {("totp" | "passkey" | "recovery_code")[]} [methods] of `second factor required`
 * @property {"wrong_code" | "used_code" | "old_code" | "wrong_recovery_code" | "wrong_passkey"} [cause] of `wrong code`
 * @property {string} [enrolment] of `second factor must be set up`: for `addApp` and `addPasskey`
 * @property {string} [company] of `sign in with your company's account`
 */

/** @typedef {components["schemas"]["ProofRequest"]} Proof */
/** @typedef {components["schemas"]["FactorResponse"]} Factor */
/** @typedef {components["schemas"]["FactorsResponse"]} Factors */
/** @typedef {components["schemas"]["TotpResponse"]} NewApp */
/** @typedef {components["schemas"]["AddedResponse"]} Added */
/** @typedef {components["schemas"]["AccountResponse"]} Account */
/** @typedef {components["schemas"]["DiscoverResponse"]} Provider */
/** What fetch throws without an answer; `hint` says why, if known. @typedef {TypeError & { hint?: string }} NoAnswer */
/** @typedef {{ access: string, refresh?: string, ends: number, user: User }} Session */

/**
 * @typedef {object} Options
 * @property {string} [baseUrl] the API's origin, without a slash at its end; this page's by default
 * @property {RequestCredentials} [credentials] "include" where the API has an origin of its own
 * @property {"cookie" | "memory"} [refreshToken] "memory" for a front-end on another site: also keeps it in memory, for
 *   browsers that block the cookie; a session then ends with its last tab
 */

/** Whether this browser supports passkeys with JSON options. */
export const hasPasskeys = Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON);

/**
 * The `challenge` of a sign-in at a company's provider. Its verifier stays in this tab. Needs https, or localhost.
 * @returns {Promise<string>}
 */
export async function makeChallenge() {
  const verifier = storage("session")?.getItem(VERIFIER) ?? base64url(crypto.getRandomValues(new Uint8Array(32)));
  storage("session")?.setItem(VERIFIER, verifier);
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64url(new Uint8Array(hash));
}

/**
 * A passkey's answer as the API takes it: by its toJSON, which those of some password managers lack, or which throws.
 * @param {Credential | null} credential
 * @returns {any}
 */
export function credentialToJSON(credential) {
  const passkey = /** @type {PublicKeyCredential} */ (credential);
  try {
    return passkey.toJSON();
  } catch {
    const parts = /** @type {Record<string, any>} */ (passkey.response);
    const names = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
    const encode = (/** @type {ArrayBuffer} */ octets) => base64url(new Uint8Array(octets));
    const response = names.filter((name) => parts[name]).map((name) => [name, encode(parts[name])]);
    const id = encode(passkey.rawId);
    return { id, rawId: id, type: passkey.type, response: Object.fromEntries(response), clientExtensionResults: {} };
  }
}

/** An answer that is an error. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {ErrorBody} body
   * @param {number} wait
   */
  constructor(status, body, wait) {
    super(body.error);
    this.name = "Refused";
    this.status = status;
    this.body = body;
    /** Seconds to wait after a 429, or a 503 that names them; otherwise 0. */
    this.wait = wait;
  }
}

/**
 * A browser's session with the API. Its events: "change" after a sign-in, a sign-out or a change of the
 * user's data, in this tab or another; "wait" when a call waits because of a limit (a CustomEvent with
 * `detail.seconds`, and `detail.times`, the number of waits of this call); and "resume" when it
 * continues.
 */
export class Client extends EventTarget {
  /** @type {Session | null} */
  #session = null;
  #isRoleStored = false; // not where storage is blocked or full: its absence then says nothing
  /** @type {Promise<void> | null} */
  #refreshing = null;
  #asking = new AbortController(); // of the request for a passkey that the browser shows
  #baseUrl;
  #credentials;
  #keeps;
  #name;
  /** @type {BroadcastChannel | undefined} */
  #channel;

  /** @param {Options} [options] */
  constructor({ baseUrl = "", credentials = "same-origin", refreshToken = "cookie" } = {}) {
    super();
    this.#baseUrl = baseUrl;
    this.#credentials = credentials;
    this.#keeps = refreshToken === "memory";
    this.#name = `session of ${baseUrl || globalThis.location?.origin}`;
  }

  /**
   * As in every EventTarget. A page that listens also hears of the other tabs.
   * @param {Parameters<EventTarget["addEventListener"]>} listener
   */
  addEventListener(...listener) {
    this.#tabs();
    super.addEventListener(...listener);
  }

  /** The other tabs; opened when first needed, and not at all on a server. */
  #tabs() {
    if (this.#channel || !globalThis.location) return this.#channel;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.addEventListener("message", ({ data }) => {
      if ("session" in data) this.#adopt(data.session);
      else if (!data.wanted) return;
      else if (this.#isFresh() && this.#session?.access !== data.wanted) this.#tell();
      else if (data.wanted === "any" && this.#session?.refresh) this.#channel?.postMessage({ lapsed: this.#session });
    });
    // A page that the browser kept, and shows again, has not heard of sign-outs and sign-ins meanwhile.
    globalThis.addEventListener?.("pageshow", ({ persisted }) => {
      if (!persisted || !this.#session) return;
      if (this.#isRoleStored && !this.lastRole) this.#adopt(null);
      else this.#channel?.postMessage({ wanted: this.#session.access });
    });
    // In a test that runs in Node an open channel would keep the process alive.
    /** @type {{ unref?: () => void }} */ (this.#channel).unref?.();
    return this.#channel;
  }

  /** The signed-in user, as last returned by the API, or null. */
  get user() {
    return this.#session?.user ?? null;
  }

  /**
   * The role of the last user who has not signed out. It proves nothing, but is enough to draw a
   * navigation while `refresh` restores the session. Null if a refresh would fail.
   */
  get lastRole() {
    return storage("local")?.getItem(this.#name) ?? null;
  }

  /**
   * A call without a session: sign-up, sign-in, links. Throws Refused, or as fetch (NoAnswer, or the signal's reason).
   * Its types come from the schema; `send<Answer>(…)`, or a path of the type `string`, is untyped.
   * @template [Answer=never]
   * @template {string} [Method=string]
   * @template {string} [Address=string]
   * @param {Method} method
   * @param {Path<Method, Address>} path
   * @param {Arguments<Method, Address>} rest the body, then `{ signal }`
   * @returns {Promise<Result<Answer, Method, Address>>}
   */
  send(method, path, ...rest) {
    return this.#send(method, path, rest[0], { signal: rest[1]?.signal });
  }

  /**
   * A call as the signed-in user, which refreshes the session if necessary, and waits if a limit is
   * reached. Throws Refused (401 if the session has ended), or as fetch. Typed as `send`.
   * @template [Answer=never]
   * @template {string} [Method=string]
   * @template {string} [Address=string]
   * @param {Method} method
   * @param {Path<Method, Address>} path
   * @param {Arguments<Method, Address>} rest the body, then `{ signal }`
   * @returns {Promise<Result<Answer, Method, Address>>}
   */
  call(method, path, ...rest) {
    const signal = rest[1]?.signal;
    return this.#asUser(method, path, rest[0], (ask) => this.#patiently(ask, signal), signal);
  }

  /**
   * Get a new access token, from another tab or from the API. Also restores the session of a page that
   * has just been loaded. Concurrent calls share one refresh.
   */
  refresh() {
    const old = this.#session?.access;
    this.#refreshing ??= this.#patiently(() => this.#alone(() => this.#renew(old))).finally(
      () => (this.#refreshing = null),
    );
    return this.#refreshing;
  }

  /**
   * Keep the answer of a sign-in as the session, in every tab.
   * @param {AuthResponse} answer
   */
  signIn({ access_token: access, refresh_token, user }) {
    const { iat, exp } = claims(access);
    // Counted from now: the clocks of the two sides may differ.
    const life = (exp - iat) * 1000;
    const ends = Date.now() + life - Math.min(EARLY, life * SHARE);
    this.#adopt({ access, user, ends, ...(this.#keeps && { refresh: refresh_token }) });
    this.#tell();
  }

  /**
   * Store the user that a call has just returned.
   * @param {User} user
   */
  update(user) {
    if (this.#session) this.#adopt({ ...this.#session, user });
    this.#tell();
  }

  /**
   * Sign out here, or everywhere. Holds the lock of refreshes, since another tab's refresh would set the
   * cookie again. A 401 means that the session has already ended, and clears the cookie, too: so a limit or a lockout
   * that refuses the refresh keeps nobody from signing out here.
   * @param {{ everywhere?: boolean }} [options]
   */
  async signOut({ everywhere = false } = {}) {
    const path = everywhere ? "/auth/logout-everywhere" : "/auth/logout";
    try {
      if (!this.#isFresh()) await (everywhere ? this.refresh() : this.#refreshUnlessLimited());
      await this.#alone(() => this.#send("POST", path, undefined, { access: this.#session?.access }));
    } catch (error) {
      if (!isRefusal(error, 401)) throw error;
    }
    this.#forget();
  }

  /* Second factors; those of their calls that are not here are plain `call`s. What takes a proof waits
  for no limit: a person at a form reads `error.wait`. */

  /**
   * The response of one of the user's passkeys: the `passkey` of a proof. With `mediation: "conditional"`
   * the browser offers them in the field with `autocomplete="username webauthn"`, until another call
   * aborts that. Throws as navigator.credentials: a NotAllowedError if the user declines.
   * @param {{ mediation?: CredentialMediationRequirement, signal?: AbortSignal }} [options]
   * @returns {Promise<NonNullable<Proof["passkey"]>>}
   */
  async passkey({ mediation = "optional", signal } = {}) {
    const mine = this.#ask(signal);
    const options = await this.#send("POST", "/auth/passkeys/options", {});
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey);
    return credentialToJSON(await navigator.credentials.get({ mediation, signal: mine, publicKey }));
  }

  /** @param {Parameters<Client["passkey"]>[0]} [options] @returns {Promise<AuthResponse>} */
  async logInByPasskey(options) {
    const credential = await this.passkey(options);
    return this.send("POST", "/auth/passkeys/login", { credential });
  }

  /**
   * Where the users of an address's domain sign in: send the browser to `url`, unless it is null.
   * @param {string} email
   * @returns {Promise<Provider>}
   */
  async findProvider(email) {
    return this.send("POST", "/auth/sso", { email, challenge: await makeChallenge() });
  }

  /**
   * After the provider: the `code` in the fragment of the front-end's `/sso`. Works once, in the tab that began.
   * @param {string} code
   * @returns {Promise<AuthResponse>}
   */
  async logInByProvider(code) {
    const verifier = storage("session")?.getItem(VERIFIER) ?? "none";
    const answer = await this.send("POST", "/auth/sso/redeem", { code, verifier });
    storage("session")?.removeItem(VERIFIER);
    return answer;
  }

  /** @param {Proof | null} proof @param {string} [enrolment] @returns {Promise<NewApp>} */
  addApp(proof, enrolment) {
    return this.#prove("/auth/factors/totp", proof, enrolment);
  }

  /** @param {{ id: string, code: string, name?: string }} app @param {string} [enrolment] @returns {Promise<Added>} */
  confirmApp(app, enrolment) {
    return this.#prove("/auth/factors/totp/confirm", app, enrolment);
  }

  /** @param {Proof | null} proof @param {string} [enrolment] @param {string} [name] @returns {Promise<Added>} */
  async addPasskey(proof, enrolment, name = "") {
    const signal = this.#ask();
    const options = await this.#prove("/auth/factors/passkeys/options", proof, enrolment);
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey);
    const credential = credentialToJSON(await navigator.credentials.create({ signal, publicKey }));
    return this.#prove("/auth/factors/passkeys", { credential, name }, enrolment);
  }

  /** @param {string} id @param {Proof} proof @returns {Promise<null>} */
  removeFactor(id, proof) {
    return this.#prove(`/auth/factors/${id}/remove`, proof);
  }

  /** @param {Proof} proof @returns {Promise<{ recovery_codes: string[] }>} */
  renewRecoveryCodes(proof) {
    return this.#prove("/auth/recovery-codes", proof);
  }

  /** A browser asks for one passkey at a time: the previous request is aborted. @param {AbortSignal} [signal] */
  #ask(signal) {
    this.#asking.abort();
    this.#asking = new AbortController();
    return signal ? AbortSignal.any([signal, this.#asking.signal]) : this.#asking.signal;
  }

  /** @param {string} path @param {object | null} body @param {string} [enrolment] for session and proof */
  #prove(path, body, enrolment) {
    if (enrolment) return this.#send("POST", path, body ?? {}, { access: enrolment });
    return this.#asUser("POST", path, body, (ask) => ask());
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} body
   * @param {(ask: () => Promise<any>) => Promise<any>} go
   * @param {AbortSignal} [signal]
   */
  async #asUser(method, path, body, go, signal) {
    const ask = () => this.#send(method, path, body, { access: this.#session?.access, signal });
    if (!this.#isFresh()) await unlessAborted(this.refresh(), signal);
    try {
      return await go(ask);
    } catch (error) {
      if (!isRefusal(error, 401)) throw error;
    }
    await unlessAborted(this.refresh(), signal);
    try {
      return await go(ask);
    } catch (error) {
      if (isRefusal(error, 401)) this.#forget();
      throw error;
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} body
   * @param {{ access?: string, signal?: AbortSignal }} [options]
   * @returns {Promise<any>}
   */
  #send(method, path, body, options) {
    const work = () => this.#fetch(method, path, body, options);
    return SIGNS_IN.test(path) ? this.#alone(work, options?.signal) : work();
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} body
   * @param {{ access?: string, signal?: AbortSignal, again?: boolean }} [options] `again`: whether a burst of sign-ins
   *   is waited for
   * @returns {Promise<any>}
   */
  async #fetch(method, path, body, { access, signal, again = true } = {}) {
    const timeout = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers: {
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(access && { Authorization: `Bearer ${access}` }),
      },
      body: JSON.stringify(body),
      credentials: this.#credentials,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    }).catch((error) => explain(error, this.#baseUrl));
    if (response.status === 204) return null;
    // A proxy in front of the service may answer with a page.
    const answer = await response.json().catch(() => ({ error: "unreadable answer" }));
    if (response.ok) return answer;
    const wait = Number(response.headers.get("Retry-After"));
    if (response.status === 503 && again && wait > 0 && wait <= BUSY) {
      // Nothing was done. All who were refused at once come back one after the other.
      await unlessAborted(pause(wait * (1 + Math.random())), signal);
      return this.#fetch(method, path, body, { access, signal, again: false });
    }
    throw new Refused(response.status, answer, wait || (response.status === 429 ? 10 : 0));
  }

  /**
   * Repeat the work after each 429, when its Retry-After has passed.
   * @template Answer
   * @param {() => Promise<Answer>} work
   * @param {AbortSignal} [signal]
   * @returns {Promise<Answer>}
   */
  async #patiently(work, signal) {
    for (let times = 1; ; times += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isRefusal(error, 429)) throw error;
        this.dispatchEvent(new CustomEvent("wait", { detail: { seconds: error.wait, times } }));
        await unlessAborted(pause(error.wait), signal).finally(() => this.dispatchEvent(new Event("resume")));
      }
    }
  }

  /**
   * Do the work in one tab at a time; but side by side without Web Locks (plain HTTP on another host than this
   * machine, or blocked storage), and beside a tab that was put to sleep while it held the lock. A server has no tabs.
   * The signal ends the wait, and throws its reason.
   * @param {() => Promise<any>} work
   * @param {AbortSignal} [signal]
   */
  async #alone(work, signal) {
    if (!globalThis.location || !globalThis.navigator?.locks) return work();
    /** @type {Promise<any> | undefined} */
    let begun;
    const begin = () => (begun = work());
    const timeout = AbortSignal.timeout(LOCK);
    const end = signal ? AbortSignal.any([signal, timeout]) : timeout;
    await navigator.locks.request(this.#name, { signal: end }, begin).catch(() => {});
    if (!begun) signal?.throwIfAborted();
    return begun ?? work();
  }

  #isFresh() {
    return this.#session !== null && Date.now() < this.#session.ends;
  }

  async #refreshUnlessLimited() {
    const old = this.#session?.access;
    try {
      await this.#alone(() => this.#renew(old));
    } catch (error) {
      if (!isRefusal(error, 429)) throw error;
    }
  }

  /** @param {string | undefined} old */
  async #renew(old) {
    if (this.#isFresh() && this.#session?.access !== old) return; // another tab has refreshed meanwhile
    const found = await this.#askTabs(old);
    if (found) this.#adopt(found);
    if (found && this.#isFresh()) return;
    const kept = this.#session?.refresh;
    try {
      // The API reads a cookie first, and this where none has come.
      this.signIn(await this.#send("POST", "/auth/refresh", kept ? { refresh_token: kept } : {}));
    } catch (error) {
      if (!isRefusal(error, 401)) throw error;
      if (this.#keeps && !kept) this.#adopt(null); // a tab that sleeps, and has not answered, may have a session
      else this.#forget();
      throw error;
    }
  }

  /**
   * Another tab's session; an old one with its refresh token if there is no better one.
   * @param {string | undefined} old
   * @returns {Promise<Session | null>}
   */
  async #askTabs(old) {
    const tabs = this.#tabs();
    if (!tabs) return null;
    return new Promise((resolve) => {
      /** @type {Session | null} */
      let lapsed = null;
      /** @param {MessageEvent} event */
      const hear = ({ data }) => {
        lapsed = data.lapsed ?? lapsed;
        if (data.session && data.session.access !== old) resolve(data.session);
      };
      tabs.addEventListener("message", hear);
      tabs.postMessage({ wanted: old ?? "any" });
      setTimeout(() => {
        tabs.removeEventListener("message", hear);
        resolve(lapsed);
      }, PATIENCE);
    });
  }

  #tell() {
    this.#tabs()?.postMessage({ session: this.#session });
  }

  #forget() {
    this.#adopt(null);
    this.#tell();
  }

  /** @param {Session | null} session */
  #adopt(session) {
    this.#session = session;
    try {
      if (session) storage("local")?.setItem(this.#name, session.user.role);
      else storage("local")?.removeItem(this.#name);
    } catch {
      // Full: a page that is loaded next has to sign in.
    }
    this.#isRoleStored = this.lastRole !== null;
    this.dispatchEvent(new Event("change"));
  }
}

/** The claims of an access token, unverified: it came from the API over TLS. @param {string} token */
function claims(token) {
  const payload = token.split(".")[1] ?? "";
  return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {unknown} error @param {number} status @returns {error is Refused} */
function isRefusal(error, status) {
  return error instanceof Refused && error.status === status;
}

/** A page's storage: none on a server, or where the browser blocks it. @param {"local" | "session"} kind */
function storage(kind) {
  try {
    return globalThis.location && globalThis[`${kind}Storage`];
  } catch {
    return undefined;
  }
}

/** @param {number} seconds @returns {Promise<void>} */
function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

/**
 * Wait for work that others may share, but not after the signal. Throws the signal's reason.
 * @template Value
 * @param {Promise<Value>} work
 * @param {AbortSignal} [signal]
 * @returns {Promise<Value>}
 */
function unlessAborted(work, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}

/**
 * Rethrow the error of fetch. A TypeError says no more than that no answer came: add a `hint` where the browser has
 * refused the call because of the page's own address.
 * @param {unknown} error
 * @param {string} baseUrl
 * @returns {Promise<never>}
 */
async function explain(error, baseUrl) {
  const page = globalThis.location;
  const api = page && new URL(baseUrl, page.href);
  if (error instanceof TypeError && api && api.origin !== page.origin) {
    const names = [page.hostname, api.hostname];
    const probe = { mode: /** @type {const} */ ("no-cors"), signal: AbortSignal.timeout(PROBE) };
    /** @type {NoAnswer} */
    const unanswered = error;
    if (names.every((name) => LOCAL.includes(name)) && names[0] !== names[1])
      unanswered.hint = `To browsers ${names.join(" and ")} are different sites: use one for the page and the API.`;
    // Whoever answers a call whose answer stays hidden is there: the browser refuses to ask more.
    else if (await fetch(`${baseUrl}/health`, probe).catch(() => null))
      unanswered.hint = `The API takes no calls from ${page.origin}: add that to its CORS_ALLOWED_ORIGINS.`;
  }
  throw error;
}
