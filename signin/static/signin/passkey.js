// The button that submits a plain form with a passkey. Without this script, or if the browser does not
// support passkeys, it stays hidden, and the form takes a code.
const button = document.querySelector("button[data-passkey]");
const known = window.PublicKeyCredential?.parseRequestOptionsFromJSON;

async function answer() {
  const { publicKey } = JSON.parse(button.dataset.passkey);
  try {
    const credential = await navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
    });
    button.form.elements.passkey.value = JSON.stringify(credential.toJSON());
    button.form.submit();
  } catch {
    // Declined or timed out: the form is still there.
  }
}

if (button && known) {
  button.hidden = false;
  button.addEventListener("click", answer);
}
