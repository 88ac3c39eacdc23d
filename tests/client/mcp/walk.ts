/* The official TypeScript SDK's client gets in by itself, in both eras of the protocol, and uses the
tools. Called with the service's address; the person's browser is played by fetch. */

import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthTokens,
  type StoredOAuthClientInformation,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";

const [, , baseUrl] = process.argv;
assert(baseUrl);
const endpoint = new URL("/mcp", baseUrl);
const person = { email: "ada@example.com", password: "correct horse battery" };

/* Keeps in memory what a program would keep in its settings. */
class Memory implements OAuthClientProvider {
  redirectUrl = "http://localhost:3030/callback";
  clientMetadata: OAuthClientMetadata = {
    client_name: "TypeScript",
    redirect_uris: [this.redirectUrl],
    token_endpoint_auth_method: "none",
  };
  client?: StoredOAuthClientInformation;
  kept?: OAuthTokens;
  verifier = "";
  address?: URL;
  clientInformation = () => this.client;
  saveClientInformation = (client: StoredOAuthClientInformation) => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens: OAuthTokens) => void (this.kept = tokens);
  redirectToAuthorization = (address: URL) => void (this.address = address);
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
}

/* Sign in and say yes; gives the address that the browser is sent to. */
async function allow(address: URL): Promise<URL> {
  const page = await fetch(address);
  const cookie = page.headers.getSetCookie().map((set) => set.split(";")[0]).join("; ");
  const fill = (text: string, fields: Record<string, string>) => {
    const hidden = text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g);
    for (const [, name, value] of hidden) fields[name!] = value!;
    return new URLSearchParams(fields);
  };
  const form = { method: "POST", headers: { cookie }, redirect: "manual" } as const;
  const signedIn = await fetch(address, { ...form, body: fill(await page.text(), { ...person }) });
  const consent = await signedIn.text();
  const action = /action="([^"]+)"/.exec(consent)![1]!.replaceAll("&amp;", "&");
  const body = fill(consent, { decision: "allow" });
  const answer = await fetch(new URL(action, address), { ...form, body });
  assert.equal(answer.status, 302, await answer.text());
  return new URL(answer.headers.get("location")!);
}

async function connect(mode: VersionNegotiationMode, door: Memory): Promise<Client> {
  const client = new Client({ name: "walk", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider: door }));
  return client;
}

for (const mode of ["legacy", "auto", { pin: "2026-07-28" }] as VersionNegotiationMode[]) {
  const door = new Memory();
  await assert.rejects(connect(mode, door), UnauthorizedError);
  const back = await allow(door.address!);
  await new StreamableHTTPClientTransport(endpoint, { authProvider: door }).finishAuth(back.searchParams);

  const client = await connect(mode, door);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 12);
  const me = await client.callTool({ name: "whoami", arguments: {} });
  assert.equal((me.structuredContent as { email: string }).email, person.email);
  const users = await client.callTool({ name: "list_users", arguments: { per_page: 1 } });
  assert.equal((users.structuredContent as { total: number }).total, 1);
  const nobody = await client.callTool({ name: "get_user", arguments: { user_id: "nobody" } });
  assert.equal(nobody.isError, true);
  await assert.rejects(client.callTool({ name: "rm", arguments: {} }), /Unknown tool|-32602/);

  const before = door.kept!.refresh_token;
  door.kept = { ...door.kept!, access_token: "no longer good" };
  const again = await client.callTool({ name: "whoami", arguments: {} });
  assert.equal(again.isError, false);
  assert.notEqual(door.kept.refresh_token, before);
  await client.close();
}
