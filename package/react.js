/* A client and its user in React. */

import { useCallback, useState, useSyncExternalStore } from "react";
import { Client } from "./client.js";

/** @import { Options, User } from "./client.js" */

const RETRY = 3_000; // milliseconds after which a refresh is tried again that an outage has stopped

/** Whether a client's session has been restored; false while that is under way. @type {WeakMap<Client, boolean>} */
const restored = new WeakMap();

/** A refused refresh forgets the role. After an outage the session goes on. @param {Client} client */
async function restore(client) {
  if (restored.has(client)) return;
  restored.set(client, false);
  const pause = () => client.lastRole && new Promise((resolve) => setTimeout(resolve, RETRY));
  while (!client.user && client.lastRole) await client.refresh().catch(pause);
  restored.set(client, true);
  client.dispatchEvent(new Event("change"));
}

/** One client as long as the component is mounted. Call it once, at the top of your app. @param {Options} [options] */
export function useClient(options) {
  return useState(() => new Client(options))[0];
}

/**
 * The signed-in user, in every tab. Null: nobody is signed in. Undefined: not known yet, on a server and until the session
 * of a reloaded page is restored.
 * @param {Client} client
 * @returns {User | null | undefined}
 */
export function useUser(client) {
  /** @param {() => void} changed */
  const listen = (changed) => {
    client.addEventListener("change", changed);
    restore(client);
    return () => client.removeEventListener("change", changed);
  };
  const read = () => client.user ?? (restored.get(client) ? null : undefined);
  return useSyncExternalStore(useCallback(listen, [client]), read, () => undefined);
}
