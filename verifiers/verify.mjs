/* Verify the sign-in service's access tokens: a file to copy into your own service.
Needs jose (6) and the variables AUTH_URL, the service's address, and AUTH_ISSUER if its JWT_ISSUER is set. Call `verify`;
Express takes `app.use(expressAuth)`, Hono `app.use(honoAuth)`. */

import { createLocalJWKSet, errors, jwtVerify } from "jose";

const ADDRESS = new URL("/.well-known/jwks.json", process.env.AUTH_URL);
const ISSUER = process.env.AUTH_ISSUER ?? "consulting-management";
const REFRESH = 300_000; // milliseconds between two reads; a new key is published 600,000 before it signs
const COOLDOWN = 60_000; // milliseconds between two reads for unknown keys, which anyone can name in a token

let keys = null; // as jose looks them up; null until they could be read
let searchedAt = -COOLDOWN;
let reading = null; // the read for an unknown key, which all callers wait for
let timer = null; // until the next read in the background

async function read() {
  try {
    const response = await fetch(ADDRESS, { signal: AbortSignal.timeout(5000) });
    keys = createLocalJWKSet(await response.json());
  } catch {
    // The keys that it has stay.
  }
}

/** Read the keys in the background, so that no request waits for it. */
function keepFresh() {
  timer = setTimeout(() => read().then(keepFresh), keys ? REFRESH : 5000);
  timer.unref?.();
}

/** A key. For an unknown kid the keys are read once a minute, however many callers ask. */
async function findKey(header, token) {
  if (!timer) keepFresh();
  try {
    if (keys) return await keys(header, token);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
  }
  if (performance.now() - searchedAt >= COOLDOWN) {
    searchedAt = performance.now();
    reading = read();
  }
  await reading;
  if (!keys) throw new Error("the keys cannot be read"); // no fault of the token, and so a 500
  return keys(header, token);
}

/** The token's claims. Throws an error of jose. */
export async function verify(token) {
  const options = { algorithms: ["RS256"], issuer: ISSUER, clockTolerance: 5, requiredClaims: ["exp"] };
  const { payload } = await jwtVerify(token, findKey, options);
  if (payload.token_type !== "access" || "aud" in payload) throw new errors.JWTInvalid("not an access token");
  return payload;
}

/** The claims of a request's token; null if that is missing or invalid. */
async function claimsOf(header = "") {
  try {
    return await verify(/^Bearer +(\S+)$/i.exec(header)?.[1] ?? "");
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/** `request.claims` has the token's claims. */
export function expressAuth(request, response, next) {
  claimsOf(request.headers.authorization).then((claims) => {
    request.claims = claims;
    if (claims) next();
    else response.set("WWW-Authenticate", "Bearer").sendStatus(401);
  }, next);
}

/** `context.get("claims")` has them. */
export async function honoAuth(context, next) {
  context.set("claims", await claimsOf(context.req.header("Authorization")));
  return context.get("claims") ? next() : context.text("Unauthorized", 401, { "WWW-Authenticate": "Bearer" });
}
