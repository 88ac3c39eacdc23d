// @ts-check
/* The consent page's sign-in: goes on with the session of a user who is signed in here, or gets one at the company's
provider. Without this script, the form takes a password. */

import { Client } from "../pages/client.js";
import { readable } from "../pages/idn.js";

/** @template {HTMLElement} T @param {string} selector @param {ParentNode} [root] */
const one = (selector, root = document) => /** @type {T} */ (root.querySelector(selector));

const client = new Client();
/** @type {HTMLFormElement} */
const form = one("main form");
/** @type {HTMLInputElement} */
const email = one("#email");
const provider = one("[data-provider]");
/** @type {HTMLButtonElement | null} missing where the front-end has an origin of its own */
const goThere = provider.querySelector("button:not([data-with-password])");

/* A front-end of another origin has signed in without a trace here, so then it's tried. */
async function offerSession() {
  if (!isSecureContext || !(client.lastRole || "elsewhere" in form.dataset)) return;
  await client.refresh();
  const offer = one("[data-session]");
  if (!client.user || !offer) return;
  const address = readable(client.user.email);
  one("[data-name]", offer).textContent = client.user.first_name || address;
  one("[data-email]", offer).textContent = address;
  offer.hidden = false;
  one("button", offer).addEventListener("click", () => {
    form.action = offer.dataset.session ?? "";
    form.submit();
  });
}

let lastDomain = ""; // that was looked up

/** Offer the provider of the address's domain; where it's required, in place of the password. */
async function lookUp() {
  const domainOf = () => (email.validity.valid && email.value.trim().split("@")[1]) || "";
  const domain = domainOf();
  if (domain === lastDomain || !isSecureContext) return;
  lastDomain = domain;
  const found = domain ? await client.findProvider(email.value).catch(() => null) : null;
  if (domain !== domainOf()) return;
  provider.hidden = !found?.url;
  one("[data-company]", provider).textContent = found?.company ?? "";
  showOnly(Boolean(found?.url && found.required));
}

/** @param {boolean} only */
function showOnly(only) {
  form.noValidate = only; // the password is hidden
  /** @type {NodeListOf<HTMLElement>} */
  const parts = form.querySelectorAll("[data-by-password]");
  for (const part of parts) part.hidden = only;
  one(".links", provider).hidden = !only;
  goThere?.classList.toggle("quiet", !only);
}

async function goToProvider() {
  const { url } = await client.findProvider(email.value);
  if (!url) return;
  sessionStorage.setItem("wanted", form.getAttribute("action") ?? ""); // where /sso goes on, see navigation.js
  location.assign(url);
}

email.addEventListener("change", lookUp);
goThere?.addEventListener("click", goToProvider);
one("[data-with-password]").addEventListener("click", () => {
  showOnly(false);
  one("#password").focus();
});
form.addEventListener("submit", (event) => {
  if (!form.noValidate) return;
  event.preventDefault();
  if (goThere) goToProvider();
});
offerSession().catch(() => {}); // signed out meanwhile
lookUp();
