/* Shows the schema with Swagger UI; nothing is fetched from another host. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

const rankOfTag = (tag) => ({ auth: 0, ".well-known": 2 })[tag] ?? 1;
const isLogIn = (call) => call.get("path") === "/auth/login";

const ui = SwaggerUIBundle({
  url: "/schema",
  dom_id: "#docs",
  validatorUrl: null,
  // By path, but the log-in comes first, and `/.well-known` last.
  tagsSorter: (one, other) => rankOfTag(one) - rankOfTag(other),
  operationsSorter: (one, other) => isLogIn(other) - isLogIn(one),
  // Calls go to the origin of this page.
  requestInterceptor(request) {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
  // After a sign-in by one of the calls, its token is used for the others.
  responseInterceptor(response) {
    const token = response.obj?.access_token;
    if (token) ui.preauthorizeApiKey("bearer", token);
    return response;
  },
  onComplete() {
    // Swagger UI's <main> has the calls only; the part before it becomes a landmark of its own.
    const about = document.querySelector(".information-container");
    about.setAttribute("role", "region");
    about.setAttribute("aria-label", "About");
    listCalls();
  },
});

// The list of calls at the side: a click opens the call and goes to it.
function listCalls() {
  const list = document.getElementById("calls");
  for (const tag of document.querySelectorAll(".opblock-tag-section")) {
    const heading = document.createElement("h2");
    heading.textContent = tag.querySelector(".opblock-tag").dataset.tag;
    const items = document.createElement("ul");
    items.append(...[...tag.querySelectorAll(".opblock")].map(callItem));
    list.append(heading, items);
  }
}

function callItem(call) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const method = document.createElement("span");
  link.href = `#${call.id}`;
  method.textContent = call.querySelector(".opblock-summary-method").textContent;
  link.append(method, " ", call.querySelector(".opblock-summary-path").textContent);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    if (!call.classList.contains("is-open")) call.querySelector(".opblock-summary-control").click();
    call.querySelector(".opblock-summary-control").focus({ preventScroll: true });
    setTimeout(() => call.scrollIntoView(), 200); // once it is open
  });
  item.append(link);
  return item;
}

// Swagger UI gives its choices of examples no accessible name.
new MutationObserver(() => {
  for (const choice of document.querySelectorAll(".examples-select select:not([aria-label])"))
    choice.setAttribute("aria-label", "Example");
}).observe(document.getElementById("docs"), { childList: true, subtree: true });
