/* "/" focuses the search. Django's widgets get the names that they lack: an autocomplete box takes its
label's, and a help icon is an image. */

addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  const search = document.getElementById("q");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

function nameWidgets() {
  for (const box of document.querySelectorAll(".select2-selection[role=combobox]")) {
    const field = box.closest(".select2-container").previousElementSibling;
    const label = document.querySelector(`label[for="${field.id}"]`);
    const shown = box.querySelector(".select2-selection__rendered");
    label.id ||= `${field.id}_label`;
    box.setAttribute("aria-labelledby", `${label.id} ${shown.id}`);
    shown.setAttribute("aria-labelledby", label.id);
  }
  for (const icon of document.querySelectorAll("span.help-tooltip[aria-label]")) icon.setAttribute("role", "img");
}

// After the load, and after what Django's own scripts still have to do.
addEventListener("load", () => (window.django?.jQuery ? django.jQuery(nameWidgets) : nameWidgets()));
