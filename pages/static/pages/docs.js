// @ts-check
/* Shows the schema with Swagger UI; nothing is fetched from another host. */

/** @typedef {{ get(name: string): string }} Operation an immutable map */

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

/** @param {string} tag */
const rankOfTag = (tag) => ["auth", "", ".well-known"].indexOf(tag) + 1 || 2;
/** @param {Operation} call */
const isLogIn = (call) => call.get("path") === "/auth/login";

const ui = SwaggerUIBundle({
  url: "/schema",
  dom_id: "#docs",
  validatorUrl: null,
  // By path, but the log-in comes first, and `/.well-known` last.
  tagsSorter: (/** @type {string} */ one, /** @type {string} */ other) => rankOfTag(one) - rankOfTag(other),
  operationsSorter: (/** @type {Operation} */ one, /** @type {Operation} */ other) =>
    Number(isLogIn(other)) - Number(isLogIn(one)),
  // Calls go to the origin of this page.
  requestInterceptor(/** @type {{ url: string }} */ request) {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
  // After a sign-in by one of the calls, its token is used for the others.
  responseInterceptor(/** @type {{ obj?: { access_token?: string } }} */ response) {
    const token = response.obj?.access_token;
    if (token) ui.preauthorizeApiKey("bearer", token);
    return response;
  },
  onComplete() {
    // Swagger UI's <main> has the calls only; the part before it becomes a landmark of its own.
    Object.assign(inside(".information-container"), { role: "region", ariaLabel: "About" });
    listCalls();
  },
});

/** @param {string} selector @param {ParentNode} [root] */
const inside = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

// The list of calls at the side: a click opens the call and goes to it.
function listCalls() {
  const list = inside("#calls");
  for (const tag of document.querySelectorAll(".opblock-tag-section")) {
    const heading = document.createElement("h2");
    heading.textContent = inside(".opblock-tag", tag).dataset.tag ?? "";
    const items = document.createElement("ul");
    for (const call of tag.querySelectorAll(".opblock")) items.append(callItem(call));
    list.append(heading, items);
  }
}

/** @param {Element} call */
function callItem(call) {
  const [item, link, method] = ["li", "a", "span"].map((name) => document.createElement(name));
  link.setAttribute("href", `#${call.id}`);
  const control = inside(".opblock-summary-control", call);
  method.textContent = inside(".opblock-summary-method", call).textContent;
  link.append(method, " ", inside(".opblock-summary-path", call).textContent ?? "");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    if (!call.classList.contains("is-open")) control.click();
    control.focus({ preventScroll: true });
    setTimeout(() => call.scrollIntoView(), 200); // once it is open
  });
  item.append(link);
  return item;
}

// Swagger UI gives its choices of examples no accessible name.
new MutationObserver(() => {
  for (const choice of document.querySelectorAll(".examples-select select:not([aria-label])"))
    choice.setAttribute("aria-label", "Example");
}).observe(inside("#docs"), { childList: true, subtree: true });
