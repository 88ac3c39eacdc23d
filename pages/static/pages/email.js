// @ts-check
/* A new e-mail address: after its link was used; changes that wait, mails about new browsers, the person's data as a file. */

/** @import { SignIns, Waiting } from "./types.js" */
import { FOUNDER, forgetLink, linkOf, remember } from "./forms.js";
import { call, client, signOut, visit, whenOnPage } from "./navigation.js";
import { all, attempt, download, hide, on, one, say, translate, write } from "./screen.js";

/* The link was used up. The session goes on under the new address. An undo has ended all sessions,
and someone else may know the password, so the next step is to set a new one. */
on("done", "form[data-email-change]", async (form) => {
  forgetLink();
  const text = translate(form.dataset.say ?? "");
  if (form.dataset.emailChange === "undo") {
    if (client.lastRole) await signOut();
    remember(linkOf.get(form)?.email ?? "");
    return visit("/forgot-password", { text });
  }
  if (client.user) client.update(await call("GET", "/auth/me"));
  return visit(client.lastRole ? "/profile" : "/login", { text });
});

/* ---- A change that waits to be confirmed ---- */

const WAITING = "/auth/email-changes/waiting";

async function drawWaiting() {
  /** @type {Waiting} */
  const { email } = await call("GET", WAITING);
  one("[data-waiting-address]").hidden = !email;
  write(one("[data-waiting-email]"), email ?? "");
}

whenOnPage("[data-waiting-address]", drawWaiting);
on("done", "form[data-call='POST /auth/email-changes']", drawWaiting);

on("click", "button[data-waiting-act]", async (button) => {
  const method = button.dataset.waitingAct ?? "";
  const text = say(method === "POST" ? "sent again" : "change cancelled");
  const work = async () => {
    await call(method, WAITING);
    await drawWaiting();
  };
  if (!(await attempt(button, work, text)) && method === "DELETE") one("main h1").focus();
});

/* ---- Mails about new browsers ---- */

/** @param {unknown} answer of `/auth/sign-ins` */
function drawMails(answer) {
  const { mails } = /** @type {SignIns} */ (answer);
  hide(all("[data-if-mails]"), ({ dataset }) => dataset.ifMails !== String(mails));
}

on("loaded", "#sign-ins", (_, { detail }) => drawMails(detail));

on("click", "button[data-if-mails]", async (button) => {
  const change = { mails: button.dataset.ifMails === "false" };
  const work = async () => drawMails(await call("PATCH", "/auth/sign-ins", change));
  if (!(await attempt(button, work, say("saved")))) one("button[data-if-mails]:not([hidden])").focus();
});

/* ---- The first steps of who signed up a company in this browser ---- */

async function drawSteps() {
  if (client.user?.role !== "admin" || localStorage.getItem(FOUNDER) !== client.user.id) return;
  await (await import("./founder.js")).drawSteps();
}

whenOnPage("[data-first-steps]", drawSteps);
on("done", "main:has([data-first-steps])", drawSteps);

on("click", "button[data-own-data]", (button) =>
  attempt(button, async () => {
    /** @type {{ trail: unknown[], next: string | null }} */
    const data = await call("GET", "/auth/me/data");
    while (data.next) {
      /** @type {typeof data} */
      const older = await call("GET", `/auth/me/data?before=${data.next}`);
      data.trail.push(...older.trail);
      data.next = older.next;
    }
    download("my-data.json", "application/json", JSON.stringify(data, null, 2));
  }));
