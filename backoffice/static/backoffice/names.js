/* Gives names to what Django's widgets leave without: the boxes in which a row is looked for take
their label's, and an icon that says something is an image. After those widgets' own scripts. */

django.jQuery(() => {
  for (const box of document.querySelectorAll(".select2-selection[role=combobox]")) {
    const field = box.closest(".select2-container").previousElementSibling;
    const label = document.querySelector(`label[for="${field.id}"]`);
    const shown = box.querySelector(".select2-selection__rendered");
    label.id ||= `${field.id}_label`;
    box.setAttribute("aria-labelledby", `${label.id} ${shown.id}`);
    shown.setAttribute("aria-labelledby", label.id);
  }
  for (const icon of document.querySelectorAll("span.help-tooltip[aria-label]")) icon.setAttribute("role", "img");
});
