/* A client and its user in React. */

import { useCallback, useState, useSyncExternalStore } from "react";
import { Client, Refused } from "./client.js";

/** @import { Options, User } from "./client.js" */

const FIRST_PAUSE = 3; // seconds at most until a refresh that failed is tried again; then twice as many each time,
const LONGEST_PAUSE = 60; // and at most these

/** Whether a client's session has been restored; false while that is under way. @type {WeakMap<Client, boolean>} */
const restored = new WeakMap();

/**
 * Restore the session of a reloaded page. The session goes on after an outage, so a refresh that got no answer, or a 5xx,
 * is tried again; any other refusal ends the attempts (`refresh` itself waits after a 429). The pauses are random, so that
 * the tabs of an office don't use up their address's limit together, and at least Retry-After.
 * @param {Client} client
 */
async function restore(client) {
  if (restored.has(client)) return;
  restored.set(client, false);
  for (let pause = FIRST_PAUSE; !client.user && client.lastRole; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const error = await client.refresh().catch((error) => error);
    if (error instanceof Refused && error.status < 500) break;
    const retryAfter = error instanceof Refused ? error.wait : 0;
    if (error) await pauseUnlessChanged(client, retryAfter + (pause * (1 + Math.random())) / 2);
  }
  restored.set(client, true);
  client.dispatchEvent(new Event("change"));
}

/**
 * Wait, but end as soon as another tab signs in or out.
 * @param {Client} client
 * @param {number} seconds
 * @returns {Promise<void>}
 */
function pauseUnlessChanged(client, seconds) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      client.removeEventListener("change", end);
      resolve();
    };
    const timer = setTimeout(end, seconds * 1000);
    client.addEventListener("change", end);
  });
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
