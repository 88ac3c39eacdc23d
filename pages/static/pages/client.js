/* A client that keeps a browser's session with this API: one file without dependencies. Copy it, with
client.d.ts, into your front-end; docs/integrating.md describes its use.

The access token is kept in this module's memory only; the refresh token in an HttpOnly cookie, and on
request also in memory (`refreshToken`). A session is refreshed shortly before its access token ends,
and once on a 401; a second 401 signs out. The tabs of a browser share one session, and only one of
them refreshes at a time, which saves requests. */

const EARLY = 30_000; // milliseconds before its end at which an access token counts as old,
const SHARE = 0.2; // or this share of its life, if that is less
const PATIENCE = 100; // milliseconds in which another tab may hand over its session
const BUSY = 3; // seconds: a 503 that names more is an outage, and not a burst of sign-ins
const TIMEOUT = 30_000; // milliseconds after which an answer is no longer waited for
const VERIFIER = "sso-verifier"; // in sessionStorage: shows that this tab began a sign-in at a provider

/**
 * @typedef {object} User
 * @property {string} id
 * @property {string} account_id
 * @property {string} email
 * @property {string} first_name
 * @property {string} last_name
 * @property {"admin" | "member"} role
 * @property {string} created_at
 * @property {string | null} consultant_id
 * @property {{ language: string }} settings
 * @property {boolean} is_manager
 */

/**
 * The answer of every call that signs in.
 * @typedef {object} AuthResponse
 * @property {string} access_token
 * @property {string} refresh_token
 * @property {string} token_type
 * @property {User} user
 */

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

/** @typedef {{ password: string, code?: string, passkey?: unknown }} Proof */
/** @typedef {{ id: string, kind: "totp" | "passkey", name: string, created_at: string, last_used_at: string | null }} Factor */
/** @typedef {{ items: Factor[], recovery_codes_left: number, required: boolean }} Factors */
/** @typedef {{ id: string, secret: string, uri: string, qr: string }} NewApp */
/** @typedef {{ factor: Factor, recovery_codes: string[] | null, session: AuthResponse | null }} Added */
/** @typedef {{ id: string, name: string, second_factor: "optional" | "required", created_at: string }} Account */
/** @typedef {{ company: string | null, url: string | null, required: boolean }} Provider */
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
  const verifier = sessionStorage.getItem(VERIFIER) ?? base64url(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem(VERIFIER, verifier);
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64url(new Uint8Array(hash));
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
  /** @type {Promise<void> | null} */
  #refreshing = null;
  #asking = new AbortController(); // of the request for a passkey that the browser shows
  #baseUrl;
  #credentials;
  #keeps;
  #name;
  #tabs;

  /** @param {Options} [options] */
  constructor({ baseUrl = "", credentials = "same-origin", refreshToken = "cookie" } = {}) {
    super();
    this.#baseUrl = baseUrl;
    this.#credentials = credentials;
    this.#keeps = refreshToken === "memory";
    this.#name = `session of ${baseUrl || location.origin}`;
    this.#tabs = new BroadcastChannel(this.#name);
    this.#tabs.addEventListener("message", ({ data }) => {
      if ("session" in data) this.#adopt(data.session);
      else if (!data.wanted) return;
      else if (this.#isFresh() && this.#session?.access !== data.wanted) this.#tell();
      else if (data.wanted === "any" && this.#session?.refresh) this.#tabs.postMessage({ lapsed: this.#session });
    });
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
    return localStorage.getItem(this.#name);
  }

  /**
   * A call without a session: sign-up, sign-in, links. Throws Refused, or as fetch.
   * @template [Answer=any]
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<Answer>}
   */
  send(method, path, body) {
    return this.#send(method, path, body);
  }

  /**
   * A call as the signed-in user, which refreshes the session if necessary, and waits if a limit is
   * reached. Throws Refused (401 if the session has ended), or as fetch.
   * @template [Answer=any]
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<Answer>}
   */
  call(method, path, body) {
    return this.#asUser(method, path, body, (ask) => this.#patiently(ask));
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
   * cookie again. A 401 means that the session has already ended.
   * @param {{ everywhere?: boolean }} [options]
   */
  async signOut({ everywhere = false } = {}) {
    const path = everywhere ? "/auth/logout-everywhere" : "/auth/logout";
    try {
      if (!this.#isFresh()) await this.refresh();
      await this.#alone(() => this.#send("POST", path, undefined, this.#session?.access));
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
   * @returns {Promise<unknown>}
   */
  async passkey({ mediation = "optional", signal } = {}) {
    const mine = this.#ask(signal);
    const options = await this.send("POST", "/auth/passkeys/options", {});
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey);
    const found = await navigator.credentials.get({ mediation, signal: mine, publicKey });
    return /** @type {PublicKeyCredential} */ (found).toJSON();
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
    const verifier = sessionStorage.getItem(VERIFIER) ?? "none";
    const answer = await this.send("POST", "/auth/sso/redeem", { code, verifier });
    sessionStorage.removeItem(VERIFIER);
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
    const made = await navigator.credentials.create({ signal, publicKey });
    const credential = /** @type {PublicKeyCredential} */ (made).toJSON();
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
    if (enrolment) return this.#send("POST", path, body ?? {}, enrolment);
    return this.#asUser("POST", path, body, (ask) => ask());
  }

  /** @param {string} method @param {string} path @param {unknown} body @param {(ask: () => Promise<any>) => Promise<any>} go */
  async #asUser(method, path, body, go) {
    const ask = () => this.#send(method, path, body, this.#session?.access);
    if (!this.#isFresh()) await this.refresh();
    try {
      return await go(ask);
    } catch (error) {
      if (!isRefusal(error, 401)) throw error;
    }
    await this.refresh();
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
   * @param {string} [access]
   * @param {boolean} [again] whether a burst of sign-ins is waited for
   * @returns {Promise<any>}
   */
  async #send(method, path, body, access, again = true) {
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers: {
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(access && { Authorization: `Bearer ${access}` }),
      },
      body: JSON.stringify(body),
      credentials: this.#credentials,
      signal: AbortSignal.timeout(TIMEOUT),
    });
    if (response.status === 204) return null;
    // A proxy in front of the service may answer with a page.
    const answer = await response.json().catch(() => ({ error: "unreadable answer" }));
    if (response.ok) return answer;
    const wait = Number(response.headers.get("Retry-After"));
    if (response.status === 503 && again && wait > 0 && wait <= BUSY) {
      // Nothing was done. All who were refused at once come back one after the other.
      await new Promise((resolve) => setTimeout(resolve, wait * 1000 * (1 + Math.random())));
      return this.#send(method, path, body, access, false);
    }
    throw new Refused(response.status, answer, wait || (response.status === 429 ? 10 : 0));
  }

  /**
   * Repeat the work after each 429, when its Retry-After has passed.
   * @template Answer
   * @param {() => Promise<Answer>} work
   * @returns {Promise<Answer>}
   */
  async #patiently(work) {
    for (let times = 1; ; times += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isRefusal(error, 429)) throw error;
        this.dispatchEvent(new CustomEvent("wait", { detail: { seconds: error.wait, times } }));
        await new Promise((resolve) => setTimeout(resolve, error.wait * 1000));
        this.dispatchEvent(new Event("resume"));
      }
    }
  }

  /**
   * Without Web Locks (plain HTTP on another host than this machine) tabs refresh side by side.
   * @param {() => Promise<any>} work
   */
  #alone(work) {
    return navigator.locks ? navigator.locks.request(this.#name, work) : work();
  }

  #isFresh() {
    return this.#session !== null && Date.now() < this.#session.ends;
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
  #askTabs(old) {
    return new Promise((resolve) => {
      /** @type {Session | null} */
      let lapsed = null;
      /** @param {MessageEvent} event */
      const hear = ({ data }) => {
        lapsed = data.lapsed ?? lapsed;
        if (data.session && data.session.access !== old) resolve(data.session);
      };
      this.#tabs.addEventListener("message", hear);
      this.#tabs.postMessage({ wanted: old ?? "any" });
      setTimeout(() => {
        this.#tabs.removeEventListener("message", hear);
        resolve(lapsed);
      }, PATIENCE);
    });
  }

  #tell() {
    this.#tabs.postMessage({ session: this.#session });
  }

  #forget() {
    this.#adopt(null);
    this.#tell();
  }

  /** @param {Session | null} session */
  #adopt(session) {
    this.#session = session;
    if (session) localStorage.setItem(this.#name, session.user.role);
    else localStorage.removeItem(this.#name);
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
