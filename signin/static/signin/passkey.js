// @ts-check
// The buttons that submit a plain form with a passkey. Without this script, or if the browser does not
// support passkeys, they stay hidden, and the form takes a password or a code.
/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll("form button[data-passkey]");
const isSupported = "parseRequestOptionsFromJSON" in (window.PublicKeyCredential ?? {});

for (const button of isSupported ? buttons : []) {
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
