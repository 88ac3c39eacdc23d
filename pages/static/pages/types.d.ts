/* Types of the pages' scripts. `npm run check` in tests/client/scripts writes made/api.d.ts from docs/openapi.json and
made/keys.d.ts from words.html, and compiles the scripts against them. */

import type { components } from "made/api";
import type { Factor, Refused } from "./client.js";
import type { Row } from "./lists.js";

export type { Key } from "made/keys";

type Schemas = components["schemas"];
export type Person = Schemas["CompanyUser"];
export type ChangedPerson = Schemas["ChangedUser"];
export type Invitation = Schemas["Invitation"];
export type AuditEvent = Schemas["Event"];
export type Domain = Schemas["Domain"];
export type MadeKey = Schemas["MadeKey"];
export type IdentityProvider = Schemas["Connection"];
export type SignIns = Schemas["SignInsResponse"];
export type Waiting = Schemas["WaitingEmailChangeResponse"];
export type Role = Person["role"];
export type Rule = Schemas["AccountResponse"]["second_factor"];
export type Method = "totp" | "passkey" | "recovery_code";
export type Way = Method | "password" | "link" | "passkey_alone" | "sso";

/** The answer of `POST /pages/link`: what an e-mailed link is for. */
export type Link = {
  email: string;
  company: string | null;
  account: string | null;
  hindrance?: "taken" | "provider"; // of an invitation
  inviter?: string;
};

/** What `GET /pages/overview` counts. */
export type Figures = Record<"people" | "admins" | "without_factor" | "absent" | "never" | "invitations", number> & {
  has_tested_provider: boolean;
};

/** A page of a list. Lists that come whole have no total. */
export type Page<Item> = { items: Item[]; page: number; per_page: number; total?: number };

/** The values of a text's placeholders, or of the elements with `data-text`. */
export type Values = { [name: string]: unknown };

/** A request's method, path and body. */
export type Call = [method: string, path: string, body?: object];

/** The item that each kind of row shows, by the row's template. */
export type Items = {
  "person-row": Person;
  "invitation-row": Invitation;
  "event-row": AuditEvent;
  "device-row": Schemas["Device"];
  "sign-in-row": Schemas["SignIn"];
  "assistant-row": Schemas["Grant"];
  "factor-row": Factor;
  "directory-row": Schemas["ApiKey"];
  "key-row": Schemas["ApiKey"];
};

/** The scripts' own events bubble up to the document; docs/page-scripts.md describes them. */
export type PageEvents = DocumentEventMap & {
  act: CustomEvent<{ act: string; row: Row }>;
  cancelled: CustomEvent<undefined>;
  done: CustomEvent<unknown>;
  loaded: CustomEvent<Page<Items[keyof Items]>>;
  opened: CustomEvent<undefined>;
  prepared: CustomEvent<undefined>;
  refused: CustomEvent<Error | Refused>;
  session: CustomEvent<{ before: string | null }>;
};

/* The type of the element that a selector finds, by the tag name of its last part. */
type Before<Text, Mark extends string> = Text extends `${infer Start}${Mark}${string}` ? Start : Text;
type Tag<Selector> = Before<Before<Before<Before<Selector, "[">, ".">, "#">, ":">;
type Last<Selector> = Selector extends `${string} ${infer Rest}` ? Last<Rest> : Selector;
/* A button or an input whose selector begins with its form. */
type Owner<Selector> = Selector extends `form${string} ${string}` ? { form: HTMLFormElement } : unknown;
export type ElementOf<Selector> = Selector extends `${infer First}, ${infer Rest}`
  ? ElementOf<First> | ElementOf<Rest>
  : Tag<Last<Selector>> extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Tag<Last<Selector>>] & Owner<Selector>
    : HTMLElement;
