/* npm's oidc-provider (certified), over TLS, with its own pages: whoever types an address is let in with it.
Called with the folder of its certificate, its port and the redirect URI. */

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import Provider from "oidc-provider";

const [, , folder, port, redirectUri] = process.argv;
const provider = new Provider(`https://localhost:${port}`, {
  clients: [{ client_id: "consulting", client_secret: "the provider's secret", redirect_uris: [redirectUri] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  cookies: { keys: ["of a test"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: id, email_verified: true }) }),
});
const [cert, key] = ["cert.pem", "key.pem"].map((name) => readFileSync(`${folder}/${name}`));
createServer({ cert, key }, provider.callback()).listen(port, "127.0.0.1");
