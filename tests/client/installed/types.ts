/* What the package's types take and refuse; compiled alone. */

import { Client, Refused, type NoAnswer, type User } from "consulting-management-client";
import { useClient, useUser } from "consulting-management-client/react";
import type { paths } from "consulting-management-client/schema";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => {};

export async function walk(client: Client, id: string, address: string, method: string, fields: Record<string, unknown>) {
  const me = await client.call("GET", "/auth/me");
  same<typeof me, User>(true);
  const page = await client.call("GET", "/users?per_page=5&search=a", undefined, { signal: AbortSignal.timeout(1) });
  same<(typeof page)["items"][number]["id"], string>(true);
  const one = await client.call("PATCH", `/users/${id}`, { role: "admin" });
  same<(typeof one)["role"], "admin" | "member">(true);
  const nothing = await client.call("POST", `/users/${id}/sign-out`);
  same<typeof nothing, null>(true);
  const factor = await client.call("PATCH", `/auth/factors/${id}`, { name: "Phone" });
  same<(typeof factor)["kind"], "totp" | "passkey">(true);
  client.signIn(await client.send("POST", "/auth/login", { email: "a@example.com", password: "x", passkey: await client.passkey() }));

  // @ts-expect-error: no such path
  await client.call("GET", "/auth/mee");
  // @ts-expect-error: no such path
  await client.call("GET", `/users/${id}/sign-off`);
  // @ts-expect-error: no such method
  await client.call("DELETE", "/auth/me");
  // @ts-expect-error: another method's path
  await client.call("GET", `/users/${id}/sign-out`);
  // @ts-expect-error: no body
  await client.send("POST", "/auth/login");
  // @ts-expect-error: a field is missing
  await client.send("POST", "/auth/login", { email: "a@example.com" });
  // @ts-expect-error: no such role
  await client.call("PATCH", `/users/${id}`, { role: "owner" });
  // @ts-expect-error: no such field
  me.name;
  // @ts-expect-error: another answer
  const text: string = await client.call("GET", "/auth/me");

  // Untyped: the answer is named, or the path is known only at run time.
  const named = await client.call<{ figures: number }>("GET", "/pages/overview", fields);
  same<typeof named, { figures: number }>(true);
  const any = await client.call(method, address, fields, { signal: AbortSignal.timeout(1) });
  same<typeof any, any>(true);
}

export function report(error: unknown) {
  if (error instanceof Refused) return error.body.fields ?? error.wait;
  return (error as NoAnswer).hint;
}

export function Name() {
  const client = useClient({ baseUrl: "https://api.example.com", credentials: "include" });
  return useUser(client)?.first_name;
}

same<keyof paths extends string ? true : false, true>(true);
