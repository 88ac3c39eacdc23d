/**
 * The `challenge` of a sign-in at a company's provider. Its verifier stays in this tab. Needs https, or localhost.
 * @returns {Promise<string>}
 */
export function makeChallenge(): Promise<string>;
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
export const hasPasskeys: boolean;
/** An answer that is an error. */
export class Refused extends Error {
    /**
     * @param {number} status
     * @param {ErrorBody} body
     * @param {number} wait
     */
    constructor(status: number, body: ErrorBody, wait: number);
    status: number;
    body: ErrorBody;
    /** Seconds to wait after a 429, or a 503 that names them; otherwise 0. */
    wait: number;
}
/**
 * A browser's session with the API. Its events: "change" after a sign-in, a sign-out or a change of the
 * user's data, in this tab or another; "wait" when a call waits because of a limit (a CustomEvent with
 * `detail.seconds`, and `detail.times`, the number of waits of this call); and "resume" when it
 * continues.
 */
export class Client extends EventTarget {
    /** @param {Options} [options] */
    constructor({ baseUrl, credentials, refreshToken }?: Options);
    /** The signed-in user, as last returned by the API, or null. */
    get user(): User | null;
    /**
     * The role of the last user who has not signed out. It proves nothing, but is enough to draw a
     * navigation while `refresh` restores the session. Null if a refresh would fail.
     */
    get lastRole(): string | null;
    /**
     * A call without a session: sign-up, sign-in, links. Throws Refused, or as fetch.
     * @template [Answer=any]
     * @param {string} method
     * @param {string} path
     * @param {unknown} [body]
     * @returns {Promise<Answer>}
     */
    send<Answer = any>(method: string, path: string, body?: unknown): Promise<Answer>;
    /**
     * A call as the signed-in user, which refreshes the session if necessary, and waits if a limit is
     * reached. Throws Refused (401 if the session has ended), or as fetch.
     * @template [Answer=any]
     * @param {string} method
     * @param {string} path
     * @param {unknown} [body]
     * @returns {Promise<Answer>}
     */
    call<Answer = any>(method: string, path: string, body?: unknown): Promise<Answer>;
    /**
     * Get a new access token, from another tab or from the API. Also restores the session of a page that
     * has just been loaded. Concurrent calls share one refresh.
     */
    refresh(): Promise<void>;
    /**
     * Keep the answer of a sign-in as the session, in every tab.
     * @param {AuthResponse} answer
     */
    signIn({ access_token: access, refresh_token, user }: AuthResponse): void;
    /**
     * Store the user that a call has just returned.
     * @param {User} user
     */
    update(user: User): void;
    /**
     * Sign out here, or everywhere. Holds the lock of refreshes, since another tab's refresh would set the
     * cookie again. A 401 means that the session has already ended.
     * @param {{ everywhere?: boolean }} [options]
     */
    signOut({ everywhere }?: {
        everywhere?: boolean;
    }): Promise<void>;
    /**
     * The response of one of the user's passkeys: the `passkey` of a proof. With `mediation: "conditional"`
     * the browser offers them in the field with `autocomplete="username webauthn"`, until another call
     * aborts that. Throws as navigator.credentials: a NotAllowedError if the user declines.
     * @param {{ mediation?: CredentialMediationRequirement, signal?: AbortSignal }} [options]
     * @returns {Promise<unknown>}
     */
    passkey({ mediation, signal }?: {
        mediation?: CredentialMediationRequirement;
        signal?: AbortSignal;
    }): Promise<unknown>;
    /** @param {Parameters<Client["passkey"]>[0]} [options] @returns {Promise<AuthResponse>} */
    logInByPasskey(options?: Parameters<Client["passkey"]>[0]): Promise<AuthResponse>;
    /**
     * Where the users of an address's domain sign in: send the browser to `url`, unless it is null.
     * @param {string} email
     * @returns {Promise<Provider>}
     */
    findProvider(email: string): Promise<Provider>;
    /**
     * After the provider: the `code` in the fragment of the front-end's `/sso`. Works once, in the tab that began.
     * @param {string} code
     * @returns {Promise<AuthResponse>}
     */
    logInByProvider(code: string): Promise<AuthResponse>;
    /** @param {Proof | null} proof @param {string} [enrolment] @returns {Promise<NewApp>} */
    addApp(proof: Proof | null, enrolment?: string): Promise<NewApp>;
    /** @param {{ id: string, code: string, name?: string }} app @param {string} [enrolment] @returns {Promise<Added>} */
    confirmApp(app: {
        id: string;
        code: string;
        name?: string;
    }, enrolment?: string): Promise<Added>;
    /** @param {Proof | null} proof @param {string} [enrolment] @param {string} [name] @returns {Promise<Added>} */
    addPasskey(proof: Proof | null, enrolment?: string, name?: string): Promise<Added>;
    /** @param {string} id @param {Proof} proof @returns {Promise<null>} */
    removeFactor(id: string, proof: Proof): Promise<null>;
    /** @param {Proof} proof @returns {Promise<{ recovery_codes: string[] }>} */
    renewRecoveryCodes(proof: Proof): Promise<{
        recovery_codes: string[];
    }>;
    #private;
}
export type User = {
    id: string;
    account_id: string;
    email: string;
    first_name: string;
    last_name: string;
    role: "admin" | "member";
    created_at: string;
    consultant_id: string | null;
    settings: {
        language: string;
    };
    is_manager: boolean;
};
/**
 * The answer of every call that signs in.
 */
export type AuthResponse = {
    access_token: string;
    refresh_token: string;
    token_type: string;
    user: User;
};
/**
 * The body of an error. After a failed validation `fields` has messages by field, and `codes` their codes.
 */
export type ErrorBody = {
    error: string;
    message?: string | undefined;
    fields?: Record<string, any> | undefined;
    codes?: Record<string, any> | undefined;
    /**
     * of `second factor required`
     */
    methods?: ("totp" | "passkey" | "recovery_code")[] | undefined;
    /**
     * of `wrong code`
     */
    cause?: "wrong_code" | "used_code" | "old_code" | "wrong_recovery_code" | "wrong_passkey" | undefined;
    /**
     * of `second factor must be set up`: for `addApp` and `addPasskey`
     */
    enrolment?: string | undefined;
    /**
     * of `sign in with your company's account`
     */
    company?: string | undefined;
};
export type Proof = {
    password: string;
    code?: string;
    passkey?: unknown;
};
export type Factor = {
    id: string;
    kind: "totp" | "passkey";
    name: string;
    created_at: string;
    last_used_at: string | null;
};
export type Factors = {
    items: Factor[];
    recovery_codes_left: number;
    required: boolean;
};
export type NewApp = {
    id: string;
    secret: string;
    uri: string;
    qr: string;
};
export type Added = {
    factor: Factor;
    recovery_codes: string[] | null;
    session: AuthResponse | null;
};
export type Account = {
    id: string;
    name: string;
    second_factor: "optional" | "required";
    created_at: string;
};
export type Provider = {
    company: string | null;
    url: string | null;
    required: boolean;
};
export type Session = {
    access: string;
    refresh?: string;
    ends: number;
    user: User;
};
export type Options = {
    /**
     * the API's origin, without a slash at its end; this page's by default
     */
    baseUrl?: string | undefined;
    /**
     * "include" where the API has an origin of its own
     */
    credentials?: RequestCredentials | undefined;
    /**
     * "memory" for a front-end on another site: also keeps it in memory, for
     * browsers that block the cookie; a session then ends with its last tab
     */
    refreshToken?: "memory" | "cookie" | undefined;
};
