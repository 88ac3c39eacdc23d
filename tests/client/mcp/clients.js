/* Programs that nobody here wrote get in, refresh in parallel, lose an answer, give their access back
and ask anew. Called with a client's name and the service's address; the person's browser is played
by fetch. Nothing is said where all is well. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as oauth from "oauth4webapi";

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

/* The person says yes where the client has sent them. */
async function finish(door) {
  const back = await allow(door.address);
  await new StreamableHTTPClientTransport(endpoint, { authProvider: door }).finishAuth(back.searchParams.get("code"));
}

async function letIn(door) {
  await assert.rejects(connect(door), UnauthorizedError);
  await finish(door);
  return connect(door);
}

/* What is asked of every client that has its own OAuth: `call` asks who the person is, `kept` and `keep`
read and write its tokens. Its grant is revoked at the end. */
async function wear({ call, kept, keep, clientId }) {
  await keep({ ...(await kept()), access_token: "expired" });
  assert.deepEqual(await Promise.all([call(), call()]), Array(2).fill(person.email));
  const before = await kept();
  await keep({ ...before, access_token: "expired" });
  assert.equal(await call(), person.email);
  await keep({ ...before, access_token: "expired" }); // as if that answer had been lost
  assert.equal(await call(), person.email);
  const body = new URLSearchParams({ token: (await kept()).refresh_token, client_id: clientId });
  await fetch(new URL("/oauth/revoke", baseUrl), { method: "POST", body });
}

async function sdk() {
  const door = new Memory();
  const client = await letIn(door);
  assert.equal((await client.listTools()).tools.length, 12);
  const call = async () => (await client.callTool({ name: "whoami", arguments: {} })).structuredContent.email;
  await wear({ call, kept: door.tokens, keep: door.saveTokens, clientId: door.client.client_id });
  await assert.rejects(call()); // and the person is asked anew
  assert.equal(door.visits, 2);
  await finish(door);
  assert.equal((await (await connect(door)).callTool({ name: "whoami", arguments: {} })).isError, false);
}

/* The inspector's command line is given a token. */
async function inspector() {
  const { access_token: token } = await (await fetch(new URL("/auth/login", baseUrl), {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(person),
  })).json();
  const ask = async (...words) => {
    const header = ["--header", `Authorization: Bearer ${token}`];
    const program = ["node_modules/.bin/mcp-inspector-cli", "--cli", endpoint.href, "--transport", "http"];
    const { stdout } = await promisify(execFile)(process.execPath, [...program, ...words, ...header]);
    return JSON.parse(stdout.slice(stdout.indexOf("{")));
  };
  assert.equal((await ask("--method", "tools/list")).tools.length, 12);
  const many = await Promise.all([1, 2].map(() => ask("--method", "tools/call", "--tool-name", "whoami")));
  assert.deepEqual(many.map((one) => one.structuredContent.email), [person.email, person.email]);
  await fetch(new URL("/auth/logout-everywhere", baseUrl), { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  await assert.rejects(ask("--method", "tools/list"), /401|missing or invalid token|Unauthorized/);
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

/* A browser is not as quick as this one: the program may only be about to listen. */
async function visit(address, tries = 50) {
  for (; tries; tries--) {
    const answer = await fetch(address).catch(() => setTimeout(100));
    if (answer) return;
  }
}

/* What desktop programs put between: it keeps its tokens in files, and waits on this machine for the
browser to come back, also in the midst of a session. */
async function remote() {
  const home = await mkdtemp(join(tmpdir(), "remote-"));
  const args = ["node_modules/mcp-remote/dist/proxy.js", endpoint.href, "--allow-http"];
  const env = { HOME: home, PATH: "/nowhere", MCP_REMOTE_CONFIG_DIR: home };
  const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: "pipe" });
  const asked = new Set();
  let said = "";
  transport.stderr.on("data", (chunk) => {
    said += chunk;
    for (const [, address] of said.matchAll(/(http:\S+\/oauth\/authorize\S+)\n/g))
      if (!asked.has(address) && asked.add(address)) allow(address).then(visit);
  });
  const client = new Client({ name: "walk", version: "1" });
  await client.connect(transport);
  const call = async () => (await client.callTool({ name: "whoami", arguments: {} })).structuredContent.email;
  assert.equal(await call(), person.email);
  const files = await readdir(home, { recursive: true });
  const named = (name) => join(home, files.find((file) => file.endsWith(name)));
  const read = async (name) => JSON.parse(await readFile(named(name), "utf-8"));
  const keep = (tokens) => writeFile(named("tokens.json"), JSON.stringify({ ...tokens, expires_at: 1 }));
  const { client_id: clientId } = await read("client_info.json");
  await wear({ call, kept: () => read("tokens.json"), keep, clientId });
  assert.equal(asked.size, 1);
  assert.equal(await call(), person.email); // once the person has said yes again
  assert.equal(asked.size, 2);
  await client.close();
}

await { sdk, inspector, remote, oauth4webapi: byOauth4webapi }[name]();
process.exit(0); // programs that they have started may hold on
