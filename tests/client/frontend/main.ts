/* A front-end on an origin of its own: all of signing up, in, on and out with `Client`. */

import { Client, Refused, type AuthResponse, type User } from "../../../pages/static/pages/client.js";

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

client.addEventListener("change", draw);
client.addEventListener("wait", () => say("Waiting for a limit"));
client.addEventListener("resume", () => say(""));
draw();
if (client.lastRole) client.refresh().catch(() => say("Please log in again"));
