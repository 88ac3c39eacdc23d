/* Programs that nobody here wrote get in, refresh in parallel, lose an answer, give their access back
and ask anew. Called with a client's name and the service's address; the person's browser is played
by fetch. Nothing is said where all is well. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";

const [, , name, baseUrl] = process.argv;
const endpoint = new URL("/mcp", baseUrl);
const redirectUri = "http://127.0.0.1:3030/callback";
const person = { email: "ada@example.com", password: "correct horse battery" };

/* Sign in and say yes; gives the address that the browser is sent to. */
async function allow(address) {
  const page = await fetch(address);
  const cookie = page.headers.getSetCookie().map((set) => set.split(";")[0]).join("; ");
  const fill = (text, fields) => {
    const hidden = text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g);
    for (const [, name, value] of hidden) fields[name] = value;
    return new URLSearchParams(fields);
  };
  const form = { method: "POST", headers: { cookie }, redirect: "manual" };
  const signedIn = await fetch(address, { ...form, body: fill(await page.text(), { ...person }) });
  const consent = await signedIn.text();
  const action = /action="([^"]+)"/.exec(consent)[1].replaceAll("&amp;", "&");
  const answer = await fetch(new URL(action, address), { ...form, body: fill(consent, { decision: "allow" }) });
  assert.equal(answer.status, 302, await answer.text());
  return new URL(answer.headers.get("location"));
}

/* A tool's answer, asked for without a client's help; 401 for a token that does not hold. */
async function whoami(token) {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "whoami", arguments: {} } };
  const headers = { "Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25", Authorization: `Bearer ${token}` };
  const answer = await fetch(endpoint, { method: "POST", headers, body: JSON.stringify(body) });
  return answer.ok ? (await answer.json()).result.structuredContent.email : answer.status;
}

/* What is asked of every client: `refresh` gives a new pair for a refresh token, `revoke` gives the
access back. */
async function live(pair, { refresh, revoke }) {
  assert.equal(await whoami(pair.access_token), person.email);
  const many = await Promise.all(Array.from({ length: 5 }, () => refresh(pair.refresh_token)));
  assert.equal(new Set(many.map((one) => one.refresh_token)).size, 1);
  const again = await refresh(pair.refresh_token); // as if the answers had been lost
  assert.equal(again.refresh_token, many[0].refresh_token);
  assert.equal(await whoami(again.access_token), person.email);
  await revoke(again.refresh_token);
  assert.equal(await whoami(again.access_token), 401);
  await assert.rejects(refresh(again.refresh_token), /invalid_grant/);
}

/* The first TypeScript SDK, which does its OAuth by itself. */
class Memory {
  redirectUrl = redirectUri;
  clientMetadata = { client_name: "SDK 1", redirect_uris: [redirectUri], token_endpoint_auth_method: "client_secret_post" };
  visits = 0;
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens) => void (this.kept = tokens);
  redirectToAuthorization = (address) => void ((this.address = address), (this.visits += 1));
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
  invalidateCredentials = () => void (this.kept = undefined);
}

async function connect(door) {
  const client = new Client({ name: "walk", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider: door }));
  return client;
}

async function letIn(door) {
  await assert.rejects(connect(door), UnauthorizedError);
  const back = await allow(door.address);
  await new StreamableHTTPClientTransport(endpoint, { authProvider: door }).finishAuth(back.searchParams.get("code"));
  return connect(door);
}

async function sdk() {
  const door = new Memory();
  const client = await letIn(door);
  assert.equal((await client.listTools()).tools.length, 12);
  const call = () => client.callTool({ name: "whoami", arguments: {} });
  const before = door.kept.refresh_token;
  door.kept = { ...door.kept, access_token: "expired" };
  const answers = await Promise.all([call(), call(), call()]); // one refresh for each 401
  assert.deepEqual(answers.map((one) => one.structuredContent.email), [person.email, person.email, person.email]);
  assert.notEqual(door.kept.refresh_token, before);
  door.kept = { ...door.kept, access_token: "expired", refresh_token: before }; // an answer was lost
  assert.equal((await call()).isError, false);
  const form = new URLSearchParams({ token: door.kept.refresh_token, client_id: door.client.client_id });
  await fetch(new URL("/oauth/revoke", baseUrl), { method: "POST", body: form });
  await assert.rejects(call()); // and the person is asked anew
  assert.equal(door.visits, 2);
  const back = await allow(door.address);
  await new StreamableHTTPClientTransport(endpoint, { authProvider: door }).finishAuth(back.searchParams.get("code"));
  assert.equal((await (await connect(door)).callTool({ name: "whoami", arguments: {} })).isError, false);
}

async function byOauth4webapi() {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(baseUrl);
  const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: "oauth2" });
  const server = await oauth.processDiscoveryResponse(issuer, found);
  const metadata = { client_name: "oauth4webapi", redirect_uris: [redirectUri] };
  const answer = await oauth.dynamicClientRegistrationRequest(server, metadata, insecure);
  const client = await oauth.processDynamicClientRegistrationResponse(answer);
  const verifier = oauth.generateRandomCodeVerifier();
  const address = new URL(server.authorization_endpoint);
  address.search = new URLSearchParams({
    response_type: "code", client_id: client.client_id, redirect_uri: redirectUri, state: "s", scope: "mcp offline_access",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256", resource: endpoint.href,
  });
  const back = oauth.validateAuthResponse(server, client, await allow(address), "s"); // looks at iss, too
  const code = await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), back, redirectUri, verifier, insecure);
  const refresh = async (token) =>
    oauth.processRefreshTokenResponse(server, client, await oauth.refreshTokenGrantRequest(server, client, oauth.None(), token, insecure));
  const revoke = async (token) =>
    oauth.processRevocationResponse(await oauth.revocationRequest(server, client, oauth.None(), token, insecure));
  const named = (error) => { throw new Error(error.error ?? error.message); };
  await live(await oauth.processAuthorizationCodeResponse(server, client, code), { refresh: (token) => refresh(token).catch(named), revoke });
}

async function byOpenidClient() {
  const insecure = { execute: [openid.allowInsecureRequests], algorithm: "oauth2" };
  const metadata = { client_name: "openid-client", redirect_uris: [redirectUri] };
  const config = await openid.dynamicClientRegistration(new URL(baseUrl), metadata, openid.None(), insecure);
  const verifier = openid.randomPKCECodeVerifier();
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri, scope: "mcp openid", resource: endpoint.href, state: "s",
    code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256",
  });
  const pair = await openid.authorizationCodeGrant(config, await allow(address), { pkceCodeVerifier: verifier, expectedState: "s" });
  const named = (error) => { throw new Error(error.error ?? error.message); };
  await live(pair, {
    refresh: (token) => openid.refreshTokenGrant(config, token).catch(named),
    revoke: (token) => openid.tokenRevocation(config, token),
  });
}

/* What desktop programs put between: it waits on this machine for the browser to come back. */
async function remote() {
  const client = ["node_modules/mcp-remote/dist/client.js", endpoint.href, "--allow-http"];
  const HOME = await mkdtemp(join(tmpdir(), "remote-"));
  const run = spawn(process.execPath, client, { env: { ...process.env, HOME, PATH: "/nowhere", MCP_REMOTE_CONFIG_DIR: HOME } });
  let said = "";
  const asked = new Set();
  const over = new Promise((resolve) => run.on("exit", resolve));
  const listen = (chunk) => {
    said += chunk;
    const [address] = /http:\S+\/oauth\/authorize\S+/.exec(said) ?? [];
    if (address && !asked.has(address) && asked.add(address)) {
      allow(new URL(address)).then((back) => fetch(back)).catch((error) => (said += error.stack));
    }
    if (said.includes("list_events")) run.kill();
  };
  run.stdout.on("data", listen);
  run.stderr.on("data", listen);
  setTimeout(() => run.kill(), 30_000).unref();
  await over;
  assert.match(said, /list_events/);
}

await { sdk, remote, oauth4webapi: byOauth4webapi, "openid-client": byOpenidClient }[name]();
