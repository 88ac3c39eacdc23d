// @ts-check
/* "/" focuses the search. Gives Django's widgets the accessible names that they lack: an autocomplete
box gets its label's, and a help icon becomes an image. */

addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
  const search = /** @type {HTMLInputElement | null} */ (document.getElementById("q"));
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

function nameWidgets() {
  for (const box of document.querySelectorAll(".select2-selection[role=combobox]")) {
    const field = box.closest(".select2-container")?.previousElementSibling;
    const label = document.querySelector(`label[for="${field?.id}"]`);
    const shown = box.querySelector(".select2-selection__rendered");
    if (!field || !label || !shown) continue;
    label.id ||= `${field.id}_label`;
    box.setAttribute("aria-labelledby", `${label.id} ${shown.id}`);
    shown.setAttribute("aria-labelledby", label.id);
  }
  for (const icon of document.querySelectorAll("span.help-tooltip[aria-label]")) icon.setAttribute("role", "img");
}

// After loading, and after Django's own scripts.
addEventListener("load", () => {
  if (window.django?.jQuery) window.django.jQuery(nameWidgets);
  else nameWidgets();
});
