// @ts-check
// The button that submits a plain form with a passkey. Without this script, or if the browser does not
// support passkeys, it stays hidden, and the form takes a code.
/** @type {HTMLButtonElement | null} */
const button = document.querySelector("form button[data-passkey]");

if (button && "parseRequestOptionsFromJSON" in (window.PublicKeyCredential ?? {})) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const form = /** @type {HTMLFormElement} */ (button.form);
    const { publicKey: options } = JSON.parse(button.dataset.passkey ?? "");
    try {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
      const credential = /** @type {PublicKeyCredential} */ (await navigator.credentials.get({ publicKey }));
      const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("passkey"));
      field.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      // Declined or timed out: the form is still there.
    }
  });
}
