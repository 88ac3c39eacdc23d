/* A front-end on an origin of its own: all of signing up, in, on and out with `Client`. */

import { Client, Refused, type AuthResponse, type User } from "consulting-management-client";

const client = new Client({
  baseUrl: import.meta.env["VITE_API"],
  credentials: "include",
  refreshToken: import.meta.env["VITE_REFRESH_TOKEN"],
});

function one<Kind extends Element>(selector: string): Kind {
  const found = document.querySelector<Kind>(selector);
  if (!found) throw new Error(`no ${selector}`);
  return found;
}

const say = (text: string) => (one("[role=status]").textContent = text);

/* What the mailed link carries; it leaves the address bar, and no server has seen it. */
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) history.replaceState(null, "", location.pathname);

function draw() {
  const { user } = client;
  one<HTMLElement>("section").hidden = !user;
  one<HTMLElement>("#login").hidden = Boolean(user || token);
  one<HTMLElement>("#ask").hidden = Boolean(user || token);
  one<HTMLElement>("#complete").hidden = Boolean(user || !token);
  if (user) one("#person").textContent = `${user.first_name} ${user.last_name}, ${user.role}`;
}

/* Send a form's fields; errors in words, a limit with its wait. */
function whenSent(form: string, work: (fields: Record<string, FormDataEntryValue>) => Promise<void>) {
  one<HTMLFormElement>(form).addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target as HTMLFormElement));
    work(fields).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      say(error.status === 429 ? `Wait ${error.wait} s` : error.body.error);
    });
  });
}

whenSent("#ask", async (fields) => {
  const { message } = await client.send<{ message: string }>("POST", "/auth/signup", fields);
  say(message);
});
whenSent("#complete", async (fields) => {
  client.signIn(await client.send<AuthResponse>("POST", "/auth/complete-signup", { token, ...fields }));
});
whenSent("#login", async (fields) => {
  client.signIn(await client.send<AuthResponse>("POST", "/auth/login", fields));
});
one("#call").addEventListener("click", async () => {
  const user = await client.call<User>("GET", "/auth/me");
  say(`You are ${user.email}`);
});
one("#out").addEventListener("click", () => client.signOut());

/* The company's own provider: offered by the address's domain, asked for anew when it is chosen. */
const provider = one<HTMLButtonElement>("#provider");
const address = one<HTMLInputElement>("#login [name=email]");
address.addEventListener("change", async () => {
  const { company } = await client.findProvider(address.value);
  provider.hidden = !company;
  provider.textContent = `Continue with ${company}`;
});
provider.addEventListener("click", async () => {
  const { url } = await client.findProvider(address.value);
  if (url) location.assign(url);
});

/* Back from there, at /sso. */
async function finish({ code, error }: { code?: string; error?: string }) {
  history.replaceState(null, "", "/");
  if (code) client.signIn(await client.logInByProvider(code));
  else if (error) say(`Not signed in: ${error}`);
}

client.addEventListener("change", draw);
client.addEventListener("wait", () => say("Waiting for a limit"));
client.addEventListener("resume", () => say(""));
draw();
if (location.pathname === "/sso") finish(Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
else if (client.lastRole) client.refresh().catch(() => say("Please log in again"));
