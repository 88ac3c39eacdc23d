/* Second factors: the second step of a sign-in, the factors on the account page, their set-up during a
sign-in if the company requires one, and the company's rule. */

import { hasPasskeys } from "./client.js";
import { remember, sender, submit } from "./forms.js";
import { ACTS } from "./lists.js";
import { afterLogIn, call, client, goOn, visit, whenShown } from "./navigation.js";
import { all, anchor, announce, attempt, confirmed, one, place, say, write } from "./screen.js";

/* ---- The second step of a form that takes a password ---- */

document.addEventListener("refused", ({ target: form, detail: error }) => {
  if (error.message === "second factor required") {
    announce("");
    askFor(form, error.body.methods);
  } else if (error.message === "second factor must be set up") enrol(form, error.body.enrolment);
  else if (error.message === "wrong e-mail or password") askAgain(form);
  else if (error.message === "wrong password" && one("[data-first]", form)) askAgain(form);
  else if (error.message === "wrong code") form.elements.code.select();
  else if (error.message === "sign in with your company's account") leadToLogIn(form);
  else leaveIfOver(error);
});

/* The company requires its provider, which accepts an invitation, too. */
function leadToLogIn(form) {
  remember(form.link.email);
  one("#status").append(" ", anchor("/login", say("log in")));
}

/* Ask for one of these methods, and offer the others. */
function askFor(form, methods) {
  const usable = hasPasskeys && one("button[data-method=passkey]", form);
  form.methods = methods;
  showStep(form, true);
  const as = one("[data-as]", form);
  if (as) write(as, form.elements.email.value);
  choose(form, methods.find((method) => method !== "passkey" || usable) ?? "recovery_code");
}

/* Show the second step instead of the first, or the first again. */
function showStep(form, second) {
  all("[data-first]", form).forEach((part) => (part.hidden = second));
  all("[data-second]", form).forEach((part) => (part.hidden = part.disabled = !second));
  if (!second) sender(form).hidden = false;
  place();
  if (second) one("#arrived").textContent = one("[data-second] h1", form)?.textContent ?? "";
}

function choose(form, method) {
  const step = one("[data-second]", form);
  const { code } = form.elements;
  const typed = method !== "passkey";
  for (const way of all("[data-method]", form)) {
    way.hidden = !form.methods.includes(way.dataset.method) || (typed && way.dataset.method === method);
  }
  code.disabled = code.closest(".field").hidden = !typed;
  sender(form).hidden = !typed;
  const passkey = one("button[data-method=passkey]", form);
  passkey?.classList.toggle("plain", typed);
  if (!typed) return passkey.focus();
  code.value = "";
  code.inputMode = method === "totp" ? "numeric" : "text";
  code.autocomplete = method === "totp" ? "one-time-code" : "off";
  one(".field label", step).textContent = say(`${method}: label`);
  one(".hint", step).textContent = say(`${method}: hint`);
  code.focus();
}

/* Back to the first step: the password is wrong. */
function askAgain(form) {
  showStep(form, false);
  one("[data-first] [name$=password]", form).select();
}

function startOver({ form }) {
  announce("");
  form.reset();
  showStep(form, false);
  form.elements.email.focus();
}

/* Back to the first step, for a form that stays on the page. */
for (const over of ["done", "cancelled"]) {
  document.addEventListener(over, ({ target: form }) => form.matches("form:has([data-first])") && showStep(form, false));
}

function useMethod(button) {
  const { form } = button;
  choose(form, button.dataset.method);
  if (button.dataset.method !== "passkey") return;
  submit(form, button, async () => ({ passkey: await client.passkey() }));
}

/* Submit as soon as there are six digits, typed, pasted or filled in. */
document.addEventListener("input", ({ target }) => {
  if (!target.matches("[autocomplete=one-time-code]")) return;
  const digits = target.value.replace(/[\s-]/g, "");
  if (!/^\d{6}$/.test(digits)) return;
  target.value = digits;
  target.form.requestSubmit();
});

/* ---- Set-up during a sign-in ---- */

let enrolment = null; // its token, and the page to go to afterwards

function enrol(form, token) {
  enrolment = { token, next: form.dataset.then };
  return visit("/second-factor");
}

whenShown((main) => {
  if (!one("[data-enrolment]", main)) enrolment = null;
  else if (!enrolment) return visit("/login", { replace: true });
  else drawWays([]);
});

/* The ten minutes of an enrolment are over. */
async function leaveIfOver(error) {
  if (!enrolment || error?.status !== 401) return;
  await visit("/login", { replace: true });
  announce(say("enrolment over"), "bad");
}

/* ---- The user's factors ---- */

const FEW = 3; // recovery codes
let known = null; // the answer of GET /auth/factors

document.addEventListener("loaded", ({ target, detail }) => {
  if (target.id !== "factors") return;
  known = detail;
  drawWays(known.items);
  const count = known.recovery_codes_left;
  const few = known.items.length && count < FEW ? "codes" : "yes";
  const line = one("[data-protection]");
  line.textContent = say(`protected: ${known.items.length ? few : "no"}`, { count });
  line.dataset.kind = known.items.length && few === "yes" ? "good" : "wait";
  one("[data-codes-row]").hidden = !known.items.length;
  one("[data-codes-left]").textContent = say("codes left", { count });
  one("[data-required]").hidden = !known.required;
});

function drawWays(items) {
  const kinds = items.map((item) => item.kind);
  const possible = { app: !kinds.includes("totp"), passkey: hasPasskeys, codes: items.length > 0 };
  for (const button of all("[data-set-up]")) button.hidden = !possible[button.dataset.setUp];
}

/* Show one panel instead of the others; on the account page in a dialog. */
function open(name) {
  const shown = one(`main [data-panel=${name}]`);
  const dialog = shown.closest("dialog");
  for (const panel of all("[data-panel]", dialog ?? one("main"))) panel.hidden = panel !== shown;
  if (!dialog) all("main dialog[open]").forEach((opened) => opened.close());
  else dialog.ariaLabel = one("h2", shown).textContent;
  if (dialog && !dialog.open) dialog.showModal();
  announce("");
  (one("[tabindex='-1']", shown) ?? one("input:enabled", shown) ?? one("main h1")).focus();
}

/* Back to the list of factors, which may have changed; nothing done, the focus goes back to the button. */
function done(text) {
  for (const form of all("main [data-panel] form")) form.reset();
  const dialog = one("main dialog[open]");
  if (text || !dialog) open("list");
  else dialog.close();
  announce(text);
  if (text) one("main").dispatchEvent(new CustomEvent("done", { bubbles: true }));
}

/* Ask for re-authentication, then do the work. */
function prove(title, work) {
  const form = one("form[data-call=proof]");
  const has = (kind) => known?.items.some((item) => item.kind === kind);
  const methods = ["totp", "passkey"].filter(has);
  form.work = work;
  one("h2", form.parentElement).textContent = title;
  open("proof");
  if (methods.length) askFor(form, [...methods, ...(known.recovery_codes_left ? ["recovery_code"] : [])]);
  else showStep(form, false);
  form.elements.password.focus();
}

/* Ask for re-authentication in a dialog, do the work, and announce the text. */
export function proveFirst(title, work, text) {
  prove(title, async (proof) => {
    await work(proof);
    done("");
    announce(text);
  });
}

const SET_UP = {
  app: async (proof) => showApp(await client.addApp(proof, enrolment?.token)),
  passkey: async (proof) => added(await client.addPasskey(proof, enrolment?.token)),
  codes: async (proof) => showCodes((await client.renewRecoveryCodes(proof)).recovery_codes),
};

async function setUp(button) {
  const work = SET_UP[button.dataset.setUp];
  if (!enrolment) return prove(button.textContent, work);
  leaveIfOver(await attempt(button, () => work(null)));
}

function showApp({ id, secret, uri, qr }) {
  const panel = one("main [data-panel=app]");
  const image = new DOMParser().parseFromString(qr, "text/html").body.firstElementChild;
  image.setAttribute("role", "img");
  image.setAttribute("aria-label", say("qr"));
  one("[data-qr]", panel).replaceChildren(image);
  one("[data-secret]", panel).textContent = secret.match(/.{1,4}/g).join(" ");
  one("[data-uri]", panel).href = uri;
  one("form", panel).work = async ({ code }) => added(await client.confirmApp({ id, code }, enrolment?.token));
  open("app");
}

function added({ recovery_codes: codes, session }) {
  if (session) client.signIn(session);
  if (codes) showCodes(codes, enrolment && session.user);
  else done(say("saved"));
}

ACTS.rename = {
  open({ id, name }) {
    const form = one("form[data-call=name]");
    form.work = async (values) => {
      await client.call("PATCH", `/auth/factors/${id}`, values);
      done(say("saved"));
    };
    form.elements.name.value = name;
    open("name");
  },
};
ACTS.remove = {
  open(facts) {
    prove(say("remove: sure", facts), async (proof) => {
      await client.removeFactor(facts.id, proof);
      done(say("remove: done", facts));
    });
  },
};

/* ---- Recovery codes, shown once ---- */

function showCodes(codes, person) {
  const panel = one("main [data-panel=codes]");
  const text = `${one("h2", panel).textContent}\n\n${codes.join("\n")}\n`;
  one("ul", panel).replaceChildren(...codes.map(codeItem));
  one("[data-download]", panel).href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const copy = one("[data-copy]", panel);
  copy.hidden = !navigator.clipboard; // plain HTTP on another host than this machine
  copy.onclick = () => attempt(copy, () => navigator.clipboard.writeText(text)).then((error) => error || announce(say("copied")));
  one("[data-print]", panel).onclick = () => print();
  one("[data-kept]", panel).onclick = () => {
    if (person) goOn(person, enrolment.next || afterLogIn(), say("welcome"));
    else done(say("saved"));
  };
  open("codes");
}

function codeItem(code) {
  const item = document.createElement("li");
  item.textContent = code;
  return item;
}

/* ---- The company's rule ---- */

whenShown(async (main) => {
  const section = one("[data-rule]", main);
  if (section) drawRule(section, await call("GET", "/account"));
});

function drawRule(section, { second_factor: rule }) {
  one("[data-rule-text]", section).textContent = say(`rule: ${rule}`);
  for (const button of all("[data-factor-rule]", section)) button.hidden = button.dataset.factorRule === rule;
}

async function rule(button) {
  const wanted = button.dataset.factorRule;
  const section = button.closest("section");
  const sure = [say("require: sure"), say("require: then")];
  if (wanted === "required" && !(await call("GET", "/auth/factors")).items.length) {
    announce(say("set up a second factor yourself first"), "bad");
    one("#status").append(" ", anchor("/profile", say("set up")));
    return;
  }
  if (wanted === "required" && !(await confirmed(button, ...sure))) return;
  const error = await attempt(button, async () => {
    drawRule(section, await call("PATCH", "/account", { second_factor: wanted }));
  });
  if (error) return;
  announce(say("saved"));
  one("[data-factor-rule]:not([hidden])", section).focus();
}

/* ---- Events ---- */

/* Escape leaves a panel, except codes that are shown only once. */
document.addEventListener("cancel", (event) => {
  if (!event.target.matches("[data-panels]")) return;
  event.preventDefault();
  if (one("[data-panel=codes]")?.hidden ?? true) done("");
}, true);

/* Browsers let a page prevent only the first of two Escapes. */
document.addEventListener("close", ({ target }) => {
  if (target.matches("[data-panels]") && one("[data-panel=codes]", target)?.hidden === false) open("codes");
}, true);

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  if (button.dataset.method) useMethod(button);
  if ("restart" in button.dataset) startOver(button);
  if (button.dataset.setUp) setUp(button);
  if (button.dataset.factorRule) rule(button);
  if ("cancel" in button.dataset) done("");
});
