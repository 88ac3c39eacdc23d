/* How a front-end in a browser keeps a session with this API: one file, no dependency. Copy it, with
client.d.ts, into a front-end of your own; docs/integrating.md tells how it is used.

The access token lives in this module's memory only; the refresh token in an HttpOnly cookie that no
script sees, and in memory, too, where that is asked for (`refreshToken`). A session is refreshed shortly before its access token ends and once on a 401; a second
401 signs out. The tabs of a browser share one session: they tell each other of it, and one at a
time refreshes (which the API does not need, but which spares its limits). */

const EARLY = 30_000; // milliseconds before its end at which an access token counts as old,
const SHARE = 0.2; // or this share of its life, if that is less
const PATIENCE = 100; // milliseconds in which another tab may hand over its session
const TIMEOUT = 30_000; // milliseconds after which an answer is no longer waited for

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
 * What every way to sign in answers.
 * @typedef {object} AuthResponse
 * @property {string} access_token
 * @property {string} refresh_token
 * @property {string} token_type
 * @property {User} user
 */

/**
 * The body of an error; where the request failed validation `fields` has sentences by field, and `codes` their codes.
 * @typedef {object} ErrorBody
 * @property {string} error
 * @property {string} [message]
 * @property {Record<string, any>} [fields]
 * @property {Record<string, any>} [codes]
 * @property {("totp" | "passkey" | "recovery_code")[]} [methods] of `second factor required`
 * @property {"wrong_code" | "used_code" | "old_code" | "wrong_recovery_code" | "wrong_passkey"} [cause] of `wrong code`
 * @property {string} [enrolment] of `second factor must be set up`: for `addApp` and `addPasskey`
 */

/** @typedef {{ password: string, code?: string, passkey?: unknown }} Proof */
/** @typedef {{ id: string, kind: "totp" | "passkey", name: string, created_at: string, last_used_at: string | null }} Factor */
/** @typedef {{ items: Factor[], recovery_codes_left: number, required: boolean }} Factors */
/** @typedef {{ id: string, secret: string, uri: string, qr: string }} NewApp */
/** @typedef {{ factor: Factor, recovery_codes: string[] | null, session: AuthResponse | null }} Added */
/** @typedef {{ id: string, name: string, second_factor: "optional" | "required", created_at: string }} Account */
/** @typedef {{ access: string, refresh?: string, ends: number, user: User }} Session */

/**
 * @typedef {object} Options
 * @property {string} [baseUrl] the API's origin, without a slash at its end; this page's by default
 * @property {RequestCredentials} [credentials] "include" where the API has an origin of its own
 * @property {"cookie" | "memory"} [refreshToken] "memory" for a front-end of another site: keeps it, too, for browsers
 *   that let no cookie through; there a session ends with its last tab
 */

/** Whether this browser has passkeys, and takes what the API asks it with. */
export const hasPasskeys = Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON);

/** An answer that is an error. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {ErrorBody} body
   * @param {number} wait
   */
  constructor(status, body, wait) {
    super(body.error);
    this.status = status;
    this.body = body;
    /** Seconds after which a 429 may be tried again; else 0. */
    this.wait = wait;
  }
}

/**
 * A browser's session with the API. Its events: "change" whenever somebody signs in or out or the
 * user's data change, in this tab or another; "wait" while a call waits for a limit to let it through
 * (a CustomEvent: `detail.seconds`, and `detail.times`, how often it has waited with this), and "resume"
 * when it goes on.
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

  /** The signed-in user, as the API last told; null while nobody is known to be signed in. */
  get user() {
    return this.#session?.user ?? null;
  }

  /**
   * The role of whoever was signed in last and has not signed out: no secret and no proof, but enough
   * to draw a navigation while `refresh` finds the session again. Null where a refresh is in vain.
   */
  get lastRole() {
    return localStorage.getItem(this.#name);
  }

  /**
   * A call without a session: sign-up, log-in, links. Throws Refused, or what fetch throws.
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
   * A call as the signed-in user, with all that keeps a session alive around it. A limit that is
   * reached is waited for. Throws Refused (a 401 where nobody is signed in any more), or what fetch
   * throws.
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
   * A new access token, from another tab or from the API; also how a page that has just been loaded
   * finds its session again. However often it is called meanwhile, it is done once.
   */
  refresh() {
    const old = this.#session?.access;
    this.#refreshing ??= this.#patiently(() => this.#alone(() => this.#renew(old))).finally(
      () => (this.#refreshing = null),
    );
    return this.#refreshing;
  }

  /**
   * Keep the answer of a way to sign in as the session, in every tab.
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
   * The user as a call has just answered it.
   * @param {User} user
   */
  update(user) {
    if (this.#session) this.#adopt({ ...this.#session, user });
    this.#tell();
  }

  /**
   * Sign out here, or everywhere. No refresh of another tab may fall in between: it would set the
   * cookie again. A 401 means that the session has ended already.
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
   * An answer of one of the person's passkeys: the `passkey` of a proof. With `mediation: "conditional"`
   * the browser offers them in the field with `autocomplete="username webauthn"`, until another call
   * aborts that. Throws what navigator.credentials throws: a NotAllowedError when the person declines.
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

  /** A browser asks for one passkey at a time: the one before is aborted. @param {AbortSignal} [signal] */
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
   */
  async #send(method, path, body, access) {
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
    // What stands before the service (a proxy, say) may answer with a page.
    const answer = await response.json().catch(() => ({ error: "unreadable answer" }));
    if (response.ok) return answer;
    const wait = response.status === 429 ? Number(response.headers.get("Retry-After")) || 10 : 0;
    throw new Refused(response.status, answer, wait);
  }

  /**
   * Do it again after each 429, when that says so.
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
    if (this.#isFresh() && this.#session?.access !== old) return; // another tab has, meanwhile
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
   * Another tab's session; an old one, with the refresh token that it has kept, where there is no better.
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

/** What an access token says, unverified: for the one who was given it over TLS. @param {string} token */
function claims(token) {
  const payload = token.split(".")[1] ?? "";
  return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
}

/** @param {unknown} error @param {number} status @returns {error is Refused} */
function isRefusal(error, status) {
  return error instanceof Refused && error.status === status;
}
