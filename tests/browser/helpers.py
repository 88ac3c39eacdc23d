"""What several tests of browser share."""

import base64
import time
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import axe_playwright_python

from assistants.models import Client
from signin.factors import totp
from tests.assistants.conftest import authorization_query
from tests.browser.conftest import (
    DESKTOP,
    PHONE,
    SCREENSHOTS,
    heading,
    press,
    says,
    settled,
    until,
)
from tests.cast import PASSWORD
from tests.requests import ask

CALLBACK = "http://localhost:3030/callback"


def address(site, callback=CALLBACK):
    """Where an assistant that has just registered sends the browser."""
    metadata = {"client_name": "Claudia", "redirect_uris": [callback]}
    client = ask(site.service.url, "POST", "/oauth/register", metadata).json()
    service_url = site.service.environment.get("SERVICE_URL", site.service.url)
    own = {"client_id": client["client_id"], "resource": f"{service_url}/mcp"}
    query = authorization_query(Client(redirect_uris=[callback]), state="of the client", **own)
    return f"/oauth/authorize?{urlencode(query)}"


def open_page(site, path, **options):
    """A tab at the page; the assistant that it leads back to answers in the browser."""
    page = site.tab(path, **options)
    page.route(f"{CALLBACK}**", lambda route: route.fulfill(body="Back at the assistant"))
    return page


def sign_in(page, password=PASSWORD):
    page.get_by_label("E-mail address").fill("ada@example.com")
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def told(site, page):
    """What the assistant was told; its address is no foreign host that the page has called."""
    page.get_by_text("Back at the assistant").wait_for()
    site.hosts.discard(urlsplit(CALLBACK).netloc)
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"


OPEN = ["", "signup", "complete-signup", "login", "login/", "accept-invitation"]


CONTRAST = ["color-contrast"]  # all that a dark scheme changes


WIDE = "document.documentElement.scrollWidth > innerWidth"


# A range of a word's letters is of one line alone where the word does not break. A soft hyphen ends
# a part of one; where it is drawn, it belongs to the letter after it, which is left out.
# What is to be copied may break anywhere.
BROKEN = """() => [...document.querySelectorAll(":is(main, footer) :not(code)")].flatMap((one) =>
    [...one.childNodes].filter((node) => node.nodeType === 3).flatMap((text) =>
        [...text.data.matchAll(/\\p{L}+/gu)].filter((word) => {
            const range = document.createRange();
            range.setStart(text, word.index + 1);
            range.setEnd(text, word.index + word[0].length);
            return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
        }).map((word) => word[0])))"""


# A scheme takes effect with the next frame; colours that change gradually are there when they stay.
DRAWN = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
    .then(() => document.getAnimations().filter((one) => one instanceof CSSTransition))
    .then((going) => going.forEach((one) => one.finish()))"""


def violations(page, rules=None):
    """What axe-core finds, of these rules or of all; its script comes from disk, past the page's
    policy."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    options = {"preload": False} | ({"runOnly": rules} if rules else {})
    found = page.evaluate("options => axe.run(options).then(done => done.violations)", options)
    return [
        f"{v['id']}: {node['target']} {node['html'][:200]}" for v in found for node in v["nodes"]
    ]


def look(page, name):
    settled(page)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=not name.startswith("docs"))
    wide = page.evaluate(WIDE)
    return violations(page) + (["wider than the screen"] if wide else [])


def see(page, name="", rules=None):
    """What is wrong with a page on a desk and on a phone, in a light scheme and in a dark one; a
    page with a name is pictured as the last of them."""
    settled(page)
    wrong = []
    for device, viewport in (("desktop", DESKTOP), ("phone", PHONE)):
        page.set_viewport_size(viewport)
        page.evaluate(DRAWN)
        wrong += [f"wider than the screen: {device}"] if page.evaluate(WIDE) else []
        wrong += [f"{device}: {said}" for said in violations(page, rules)]
        dense = "/docs" in page.url or "/admin/" in page.url  # addresses may break there
        broken = [] if dense else page.evaluate(BROKEN)
        wrong += [f"{device}: broken: {word}" for word in broken]
    page.emulate_media(color_scheme="dark")
    page.evaluate(DRAWN)
    wrong += [f"dark: {said}" for said in violations(page, CONTRAST)]
    if name:
        page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESKTOP)
    page.evaluate(DRAWN)
    return wrong


LINKS = {
    "LINKS_TERMS": "https://www.example.com/terms",
    "LINKS_PRIVACY": "https://www.example.com/privacy",
    "LINKS_HELP": "https://help.example.com",
    "LINKS_IMPRINT": "https://www.example.com/imprint",
}


KEY = """(field, on) => field.dispatchEvent(
    new KeyboardEvent("keyup", {key: "A", bubbles: true, modifierCapsLock: on}))"""


# What the browser offers beside the address is never taken, until the page ends the offer.
LEAVE_UNSEEN = """() => {
    const get = navigator.credentials.get.bind(navigator.credentials);
    window.asked = [];
    navigator.credentials.get = (options) => {
        asked.push(options.mediation);
        if (options.mediation !== "conditional") return get(options);
        const { signal } = options;
        return new Promise((_, end) => signal.addEventListener("abort", () => {
            asked.push("ended");
            end(signal.reason);
        }));
    };
}"""


class Key:
    """A virtual authenticator in somebody's browser, who confirms whatever it is asked for."""

    def __init__(self, page):
        self.page, self.session = page, page.context.new_cdp_session(page)
        options = {"protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal"}
        abilities = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
        self.session.send("WebAuthn.enable")
        made = self.session.send(
            "WebAuthn.addVirtualAuthenticator", {"options": options | abilities}
        )
        self.own = {"authenticatorId": made["authenticatorId"]}

    def leave_unseen(self, leave):
        """Go to the log-in page, and do not take what the browser then offers; but whatever is
        asked next."""
        self.page.evaluate(LEAVE_UNSEEN)
        leave(self.page)
        until(self.page, "asked.at(-1) === 'conditional'")

    def credentials(self):
        return list(self.session.send("WebAuthn.getCredentials", self.own)["credentials"])


def prove(page, password=PASSWORD, code=""):
    """Answer the dialog that asks for re-authentication. A code of the app sends itself."""
    page.locator("#proof-password").fill(password)
    page.keyboard.press("Enter")
    if code:
        page.locator("#proof-code:visible").fill(code)


def prove_by_recovery_code(page, code):
    prove(page)
    page.locator("#proof").get_by_role("button", name="Use a recovery code").click()
    page.locator("#proof-code").fill(code)
    press(page, "Continue")


def code(secret, steps=0):
    """What the app with this secret shows, so many steps from now."""
    octets = base64.b32decode(secret.replace(" ", ""))
    return totp.code_generator(octets).generate((int(time.time()) // 30 + steps) * 30).decode()


def read_codes(page):
    page.get_by_role("heading", name="Your recovery codes").wait_for()
    return list(page.locator(".codes li").all_inner_texts())


def keep_codes(page):
    codes = read_codes(page)
    press(page, "I've saved my codes")
    return codes


def add_app(page):
    """Add an app on the page at hand; its secret, and the recovery codes."""
    press(page, "Add an authenticator app")
    prove(page)
    page.get_by_role("heading", name="Authenticator app", exact=True).wait_for()
    secret = page.locator("[data-secret]").inner_text()
    page.used = code(secret)
    page.locator("#app-code").fill(page.used)
    page.get_by_role("heading", name="Your recovery codes").wait_for()
    for _ in range(3):  # browsers let a page prevent only the first
        page.keyboard.press("Escape")
    codes = keep_codes(page)
    says(page, "Saved.")
    return secret, codes


def add_passkey(page):
    key = Key(page)
    press(page, "Add a passkey")
    prove(page)
    keep_codes(page)
    says(page, "Saved.")
    return key


def leave(page):
    press(page, "Sign out")
    heading(page, "Sign in")


def row_of(page, name):
    return page.locator("#people tr, #invitations tr", has_text=name)


def enter(page):
    """Log in to the admin site."""
    page.locator("[name=username]").fill("ada@example.com")
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")


def operator(site, **options):
    page = site.tab("/admin/", **options)
    enter(page)
    page.get_by_role("heading", name="Back office").wait_for()
    page.wait_for_load_state()  # its script listens
    return page
