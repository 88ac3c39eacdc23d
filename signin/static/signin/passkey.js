// The button that answers a plain form with a passkey; without script, or where the browser knows no
// passkeys, it stays hidden, and the form takes a code.
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
    // The person said no, or let the time pass: the form is still there.
  }
}

if (button && known) {
  button.hidden = false;
  button.addEventListener("click", answer);
}
