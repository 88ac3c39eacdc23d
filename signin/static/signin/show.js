// For forms with a password: a button that shows the password, and a hint while caps lock is on. Without
// this script the button stays hidden.

function reveal(button) {
  const field = document.getElementById(button.getAttribute("aria-controls"));
  const shown = field.type === "password";
  field.type = shown ? "text" : "password";
  button.setAttribute("aria-pressed", String(shown));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("button[data-reveal]");
  if (button) reveal(button);
});

// Hidden again before it is sent, so that no browser keeps it as plain text.
document.addEventListener("submit", ({ target }) => {
  target.querySelectorAll("[data-reveal][aria-pressed=true]").forEach(reveal);
});

function hint(event) {
  const place = event.target.closest?.(".field")?.querySelector("[data-caps]");
  if (!place || !event.getModifierState) return; // autofill sends events without keys
  const said = event.getModifierState("CapsLock") ? place.dataset.caps : "";
  if (place.textContent !== said) place.textContent = said;
}
document.addEventListener("keydown", hint);
document.addEventListener("keyup", hint); // of the caps lock key itself
document.addEventListener("focusout", ({ target }) => {
  const place = target.closest?.(".field")?.querySelector("[data-caps]");
  if (place) place.textContent = "";
});

document.querySelectorAll("button[data-reveal][hidden]").forEach((button) => (button.hidden = false));
