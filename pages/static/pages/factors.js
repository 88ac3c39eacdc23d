// @ts-check
/* Second factors: the second step of a sign-in, the factors on the account page, and their set-up during a sign-in if
the company requires one. */

/** @import { Added, Factors, NewApp, User } from "./client.js" */
/** @import { Method, Values } from "./types.js" */
import { hasPasskeys, Refused } from "./client.js";
import { linkOf, remember, sender, submit, workOf } from "./forms.js";
import { afterLogIn, call, client, goOn, proven, visit, whenShown } from "./navigation.js";
import {
  all, anchor, announce, attempt, copy, fieldOf, find, hide, make, on, one, place, say, tell, write,
} from "./screen.js";

/* ---- The second step of a form that takes a password ---- */

/** @type {WeakMap<HTMLFormElement, Method[]>} */
const methodsOf = new WeakMap(); // of a form's user

on("refused", "form", (form, { detail: error }) => {
  const { methods = [], enrolment: token } = error instanceof Refused ? error.body : {};
  if (error.message === "second factor required") {
    announce("");
    askFor(form, methods);
  } else if (error.message === "second factor must be set up") enrol(form, token ?? "");
  else if (["wrong e-mail or password", "wrong password"].includes(error.message)) askAgain(form);
  else if (error.message === "wrong code") fieldOf(form, "code").select();
  else if (error.message === "sign in with your company's account") leadToLogIn(form);
  else leaveIfOver(error);
});

/** The company requires its provider, which accepts an invitation, too. @param {HTMLFormElement} form */
function leadToLogIn(form) {
  remember(linkOf.get(form)?.email ?? "");
  one("#status").append(" ", anchor("/login", say("log in")));
}

/** Ask for one of these methods, and offer the others. @param {HTMLFormElement} form @param {Method[]} methods */
function askFor(form, methods) {
  const usable = hasPasskeys && find("button[data-method=passkey]", form);
  methodsOf.set(form, methods);
  showStep(form, true);
  const as = find("[data-as]", form);
  if (as) write(as, fieldOf(form, "email").value);
  choose(form, methods.find((method) => method !== "passkey" || usable) ?? "recovery_code");
}

/**
 * Show the second step instead of the first, or the first again.
 * @param {HTMLFormElement} form
 * @param {boolean} second
 */
function showStep(form, second) {
  hide(all("[data-first]", form), () => second);
  hide(all("[data-second]", form), () => !second);
  for (const fields of all("fieldset[data-second]", form)) fields.disabled = !second;
  if (!second) sender(form).hidden = false;
  place();
  if (second) one("#arrived").textContent = find("[data-second] h1", form)?.textContent ?? "";
}

/** @param {HTMLFormElement} form @param {Method} method */
function choose(form, method) {
  const step = one("[data-second]", form);
  const code = fieldOf(form, "code");
  const isPasskey = method === "passkey";
  const offered = methodsOf.get(form)?.filter((other) => isPasskey || other !== method);
  hide(all("[data-method]", form), ({ dataset }) => !offered?.some((other) => other === dataset.method));
  one(".field", step).hidden = code.disabled = isPasskey;
  sender(form).hidden = isPasskey;
  const passkey = find("button[data-method=passkey]", form);
  passkey?.classList.toggle("plain", !isPasskey);
  if (isPasskey) return passkey?.focus();
  code.value = "";
  code.inputMode = method === "totp" ? "numeric" : "text";
  code.autocomplete = method === "totp" ? "one-time-code" : "off";
  one(".field label", step).textContent = say(`${method}: label`);
  one(".hint", step).textContent = say(`${method}: hint`);
  code.focus();
}

/** Back to the first step: the password is wrong. @param {HTMLFormElement} form */
function askAgain(form) {
  showStep(form, false);
  one("[data-first] input[name$=password]", form).select();
}

/* Back to the first step, for a form that stays on the page. */
on("cancelled", "form:has([data-first])", (form) => showStep(form, false));

on("click", "form button[data-restart]", ({ form }) => {
  announce("");
  form.reset();
  showStep(form, false);
  fieldOf(form, "email").focus();
});

on("click", "form button[data-method]", (button) => {
  const { form } = button;
  choose(form, /** @type {Method} */ (button.dataset.method));
  if (button.dataset.method === "passkey") submit(form, button, async () => ({ passkey: await client.passkey() }));
});

/* Submit as soon as there are six digits, typed, pasted or filled in. */
on("input", "input[autocomplete=one-time-code]", (input) => {
  const digits = input.value.replace(/[\s-]/g, "");
  if (!/^\d{6}$/.test(digits)) return;
  input.value = digits;
  input.form?.requestSubmit();
});

/* ---- Set-up during a sign-in ---- */

/** @type {{ token: string, next: string } | null} */
let enrolment = null; // its token, and the page to go to afterwards

/** @param {HTMLFormElement} form @param {string} token */
function enrol(form, token) {
  enrolment = { token, next: form.dataset.then ?? "" };
  return visit("/second-factor");
}

whenShown((main) => {
  if (!find("[data-enrolment]", main)) enrolment = null;
  else if (!enrolment) return visit("/login", { replace: true });
  else drawWays([]);
});

/** The ten minutes of an enrolment are over. @param {Error | null} error */
async function leaveIfOver(error) {
  if (!enrolment || !(error instanceof Refused) || error.status !== 401) return;
  await visit("/login", { replace: true });
  announce(say("enrolment over"), "bad");
}

/* ---- The user's factors ---- */

const FEW = 3; // recovery codes

on("loaded", "#factors", (_, { detail }) => {
  const { items, recovery_codes_left: count, required } = /** @type {Factors & typeof detail} */ (detail);
  drawWays(items);
  const protection = !items.length ? "no" : count < FEW ? "codes" : "yes";
  const line = one("[data-protection]");
  line.textContent = say(`protected: ${protection}`, { count });
  line.dataset.kind = protection === "yes" ? "good" : "wait";
  one("[data-codes-row]").hidden = !items.length;
  one("[data-codes-left]").textContent = say("codes left", { count });
  one("[data-required]").hidden = !required;
});

/** @param {Factors["items"]} items */
function drawWays(items) {
  const hasApp = items.some(({ kind }) => kind === "totp");
  const possible = /** @type {Values} */ ({ app: !hasApp, passkey: hasPasskeys, codes: items.length > 0 });
  hide(all("[data-set-up]"), ({ dataset }) => !possible[dataset.setUp ?? ""]);
}

/** The part of the page that is shown in place of others. @param {string} name */
const panelOf = (name) => one(`main [data-panel=${name}]`);

/** Show one panel instead of the others; on the account page in a dialog. @param {string} name */
function open(name) {
  const shown = panelOf(name);
  const dialog = shown.closest("dialog");
  hide(all("[data-panel]", dialog ?? one("main")), (panel) => panel !== shown);
  if (dialog) dialog.ariaLabel = one("h2", shown).textContent;
  else find("main dialog[open]")?.close();
  if (dialog && !dialog.open) dialog.showModal();
  announce("");
  (find("[tabindex='-1']", shown) ?? find("input:enabled", shown) ?? one("main h1")).focus();
}

/** Close the panel; after something was done, on the page of the factors, show their list. */
function done(text = "") {
  for (const form of all("main [data-panel] form")) form.reset();
  const dialog = find("main dialog[open]");
  if (find("[data-panel=list]") && (text || !dialog)) open("list");
  else dialog?.close();
  announce(text);
  if (text) tell(one("main"), "done");
}

/** @param {string} [name] */
async function setUp(name) {
  if (name === "app") showApp(await proven((proof) => client.addApp(proof ?? {}, enrolment?.token)));
  else if (name === "passkey") added(await proven((proof) => client.addPasskey(proof ?? {}, enrolment?.token)));
  else {
    /** @type {{ recovery_codes: string[] }} */
    const { recovery_codes: codes } = await call("POST", "/auth/recovery-codes");
    showCodes(codes);
  }
}

on("click", "button[data-set-up]", async (button) => {
  leaveIfOver(await attempt(button, () => setUp(button.dataset.setUp)));
});

/** @param {NewApp} app */
function showApp({ id, secret, uri, qr }) {
  const panel = panelOf("app");
  const image = new DOMParser().parseFromString(qr, "text/html").body.children[0];
  image.setAttribute("role", "img");
  image.setAttribute("aria-label", say("qr"));
  one("[data-qr]", panel).replaceChildren(image);
  one("[data-secret]", panel).textContent = secret.replace(/.{4}(?=.)/g, "$& ");
  one("a[data-uri]", panel).href = uri;
  workOf.set(one("form", panel), async ({ code }) =>
    added(await client.confirmApp({ id, code: String(code) }, enrolment?.token)));
  open("app");
}

/** @param {Added} answer */
function added({ recovery_codes: codes, session }) {
  if (session) client.signIn(session);
  if (codes) showCodes(codes, enrolment ? session?.user : null);
  else done(say("saved"));
}

on("act", "#factors", (_, { detail: { row: { id, name } } }) => {
  const form = one("form[data-call=name]");
  workOf.set(form, async (values) => {
    await client.call("PATCH", `/auth/factors/${id}`, values);
    done(say("saved"));
  });
  fieldOf(form, "name").value = name;
  open("name");
});

/* ---- Recovery codes, shown once ---- */

/** @param {string[]} codes @param {User | null} [user] who is signed in by the set-up */
function showCodes(codes, user) {
  const panel = panelOf("codes");
  write(one("[data-codes-of]", panel), client.user?.email ?? "");
  const owner = one("p:has([data-codes-of])", panel).textContent;
  const text = `${one("h2", panel).textContent}\n${owner}\n\n${codes.join("\n")}\n`;
  one("ul", panel).replaceChildren(...codes.map((code) => make("li", { textContent: code })));
  one("a[data-download]", panel).href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const button = one("[data-copy]", panel);
  button.onclick = () => copy(button, text);
  one("[data-print]", panel).onclick = () => print();
  one("[data-kept]", panel).onclick = () => {
    panel.hidden = true;
    if (user) goOn(user, enrolment?.next || afterLogIn(), say("welcome"));
    else done(say("saved"));
  };
  open("codes");
}

/* ---- Events ---- */

/* Codes are shown only once. Escape leaves the other panels. */
const areCodesShown = () => find("main [data-panel=codes]")?.hidden === false;

on("cancel", "[data-panels]", (_, event) => {
  event.preventDefault();
  if (!areCodesShown()) done();
}, true);

/* Browsers let a page prevent only the first of two Escapes. */
on("close", "[data-panels]", () => areCodesShown() && open("codes"), true);

/* Links leave the document then, and browsers ask before that. */
on("click", "a", (_, event) => areCodesShown() && event.stopPropagation(), true);
addEventListener("beforeunload", (event) => areCodesShown() && event.preventDefault());

on("click", "button[data-cancel]", () => done());
