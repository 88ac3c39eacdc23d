// @ts-check
// The buttons that submit a plain form with a passkey. Without this script, or if the browser does not
// support passkeys, they stay hidden, and the form takes a password or a code.
/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll("form button[data-passkey]");
const isSupported = "parseRequestOptionsFromJSON" in (window.PublicKeyCredential ?? {});

/** As in the pages' client, which some password managers make necessary. @param {PublicKeyCredential} credential */
async function toJSON(credential) {
  try {
    return credential.toJSON();
  } catch {
    return (await import("../pages/client.js")).credentialToJSON(credential);
  }
}

for (const button of isSupported ? buttons : []) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const form = /** @type {HTMLFormElement} */ (button.form);
    const { publicKey: options } = JSON.parse(button.dataset.passkey ?? "");
    try {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
      const credential = /** @type {PublicKeyCredential} */ (await navigator.credentials.get({ publicKey }));
      const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("passkey"));
      field.value = JSON.stringify(await toJSON(credential));
      form.submit();
    } catch {
      // Declined or timed out: the form is still there.
    }
  });
}
