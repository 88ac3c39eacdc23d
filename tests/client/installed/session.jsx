/* Signing in and out with the installed package: the same component in Vite's page and in Next's. */

import { useState } from "react";
import { useClient, useUser } from "consulting-management-client/react";

export default function Session({ api }) {
  const client = useClient({ baseUrl: api, credentials: "include" });
  const user = useUser(client);
  const [problem, setProblem] = useState("");

  async function signIn(event) {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target));
    try {
      client.signIn(await client.send("POST", "/auth/login", fields));
    } catch (error) {
      setProblem(error.hint ?? error.message);
    }
  }

  if (user === undefined) return <p>One moment</p>;
  if (user)
    return (
      <section>
        <p>Signed in as {user.email}</p>
        <button onClick={() => client.signOut()}>Sign out</button>
      </section>
    );
  return (
    <form onSubmit={signIn}>
      <p role="status">{problem}</p>
      <input name="email" type="email" aria-label="E-mail address" />
      <input name="password" type="password" aria-label="Password" />
      <button>Sign in</button>
    </form>
  );
}
