import { Client } from "consulting-management-client";
import Session from "./session.jsx";

export const dynamic = "force-dynamic"; // the environment names the service at run time

export default function Page() {
  const { user, lastRole } = new Client({ baseUrl: process.env.API });
  return (
    <main>
      <p>The server knows {String(user ?? lastRole)}</p>
      <Session api={process.env.API} />
    </main>
  );
}
