// @ts-check
// For forms with a password: a button that shows the password, and a hint while caps lock is on. Without
// this script the button stays hidden. Addresses lose invisible characters, with which mails part them.

/** @param {Element} button */
function reveal(button) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById(button.getAttribute("aria-controls") ?? ""));
  const shown = field.type === "password";
  field.type = shown ? "text" : "password";
  button.setAttribute("aria-pressed", String(shown));
}

/** The event's element, or its nearest one with the selector. @param {Event} event @param {string} selector */
const closest = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);

document.addEventListener("click", (event) => {
  const button = closest(event, "button[data-reveal]");
  if (button) reveal(button);
});

// Hidden again before it is sent, so that no browser keeps it as plain text.
document.addEventListener("submit", (event) => {
  closest(event, "form")?.querySelectorAll("[data-reveal][aria-pressed=true]").forEach(reveal);
});

/** Write the hint, or nothing. @param {Event} event @param {boolean} isOn */
function hint(event, isOn) {
  /** @type {HTMLElement | null | undefined} */
  const place = closest(event, ".field")?.querySelector("[data-caps]");
  const text = (isOn && place?.dataset.caps) || "";
  if (place && place.textContent !== text) place.textContent = text;
}

for (const type of /** @type {const} */ (["keydown", "keyup"])) {
  // Also of the caps lock key itself. Autofill sends events without keys.
  document.addEventListener(type, (event) => event.getModifierState && hint(event, event.getModifierState("CapsLock")));
}
// Before the browser validates the address, and before other scripts read it.
document.addEventListener("input", (event) => {
  const field = /** @type {HTMLInputElement | null} */ (closest(event, "input[type=email]"));
  const text = field?.value.replace(/\p{Cf}/gu, "");
  if (field && text !== undefined && text !== field.value) field.value = text;
}, true);
document.addEventListener("focusout", (event) => hint(event, false));

for (const button of document.querySelectorAll("button[data-reveal][hidden]")) button.removeAttribute("hidden");
