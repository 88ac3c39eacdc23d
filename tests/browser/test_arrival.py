"""What meets a person on a page: where the focus is, what is said, and what stands at its foot."""

import pytest

from tests.browser.conftest import DESKTOP, PHONE, heading, invite, says, settled
from tests.browser.test_pages import OPEN, look
from tests.conftest import PASSWORD

pytestmark = pytest.mark.browser

LANGUAGES = pytest.mark.parametrize("language", ["en", "de", "sv"])
ASKS = {"en": "Reset your password", "de": "Passwort zurücksetzen", "sv": "Återställ ditt lösenord"}
CAPS = {"en": "Caps lock is on.", "de": "Die Feststelltaste ist an.", "sv": "Caps Lock är på."}
MISSING = {"en": "Page not found", "de": "Seite nicht gefunden", "sv": "Sidan "}
PRODUCT = {
    "en": "one place for your consulting company",
    "de": "alles für Ihr Beratungsunternehmen an einem Ort",
    "sv": "allt för ditt konsultföretag på ett ställe",
}
LINKS = {
    "LINKS_TERMS": "https://www.example.com/terms",
    "LINKS_PRIVACY": "https://www.example.com/privacy",
    "LINKS_HELP": "https://help.example.com",
    "LINKS_IMPRINT": "https://www.example.com/imprint",
}
KEY = """(field, on) => field.dispatchEvent(
    new KeyboardEvent("keyup", {key: "A", bubbles: true, modifierCapsLock: on}))"""
LINES = """(element) => {
    const range = document.createRange(), lines = new Set();
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        range.selectNodeContents(walker.currentNode);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > 1) return -1; // a word is broken
        tops.forEach((top) => lines.add(top));
    }
    return lines.size;
}"""


# A range of a word's letters is of one line alone where the word does not break. A soft hyphen ends
# a part of one; where it is drawn, it belongs to the letter after it, which is left out.
BROKEN = """() => [...document.querySelectorAll("main *, footer *")].flatMap((element) =>
    [...element.childNodes].filter((node) => node.nodeType === 3).flatMap((text) =>
        [...text.data.matchAll(/\\p{L}+/gu)].filter((word) => {
            const range = document.createRange();
            range.setStart(text, word.index + 1);
            range.setEnd(text, word.index + word[0].length);
            return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
        }).map((word) => word[0])))"""


@LANGUAGES
def test_no_word_of_a_page_breaks_on_a_phone(site, language):
    page = site.tab("/", viewport=PHONE, locale=language)
    found = {}
    for name in [name for name in OPEN if name != "docs"]:
        page.goto(f"/{name}")
        settled(page)
        found[name] = page.evaluate(BROKEN)

    assert not any(found.values()), found


@LANGUAGES
@pytest.mark.parametrize("typed", ["", "ada@example.com"])
def test_focus_is_in_the_first_field_and_the_page_is_announced(site, language, typed):
    page = site.tab("/login", locale=language)
    page.locator("main [name=email]").fill(typed)

    page.locator("main a[href='/forgot-password']").click()

    page.locator("main form[data-sent] [name=email]:focus").wait_for()
    page.locator("#arrived", has_text=ASKS[language]).wait_for()
    assert page.locator("main [name=email]").input_value() == typed


@LANGUAGES
def test_caps_lock_is_said_while_it_is_on(site, language):
    page = site.tab("/login", locale=language)
    password = page.locator("main [name=password]:enabled")

    password.evaluate(KEY, True)

    page.get_by_text(CAPS[language]).wait_for()
    assert look(page, f"caps-{language}") == []
    password.evaluate(KEY, False)
    assert page.locator("main [data-caps]").inner_text() == ""


@LANGUAGES
def test_unknown_address_is_a_page(site, language):
    context = site.person(locale=language)
    page = context.new_page()

    answer = page.goto("/nope/at/all")

    assert answer.status == 404
    heading(page, MISSING[language])
    assert look(page, f"nope-{language}") == []
    page.locator("main a.button").click()
    page.locator(".hero").wait_for()


@LANGUAGES
def test_start_page_says_what_this_is(site, language):
    page = site.tab("/", locale=language)

    page.get_by_text(PRODUCT[language]).wait_for()
    assert page.locator(".about h2").count() == 3
    assert look(page, f"start-{language}") == []


def test_links_of_the_operators_are_on_every_page(new_site):
    site = new_site(RATE_LIMIT_CREDENTIAL="100", **LINKS)
    site.operator()
    for viewport, device, scheme in [(DESKTOP, "desktop", "dark"), (PHONE, "phone", "light")]:
        page = site.tab("/", viewport=viewport, color_scheme=scheme)
        for path in ("/", "/login", "/signup", "/nope", "/docs", "/oauth/authorize"):
            page.goto(path)
            found = page.locator("nav[aria-label='About this service'] a")
            assert [link.get_attribute("href") for link in found.all()] == list(LINKS.values())
        for path in ("login", "docs"):
            page.goto(f"/{path}")
            page.locator("nav[aria-label='About this service']").scroll_into_view_if_needed()
            assert look(page, f"{path}-links-{device}") == []
    site.log_in(page)
    heading(page, "Your account")
    assert page.get_by_role("link", name="Legal notice").is_visible()
    page.goto("/admin/login/")  # a phone's, 320 px wide: nothing touches its edge
    first, last = (page.get_by_role("link", name=name) for name in ("Terms", "Legal notice"))
    edges = first.bounding_box()["x"], last.bounding_box()["x"] + last.bounding_box()["width"]
    assert edges[0] >= 16
    assert edges[1] <= 304


@pytest.mark.parametrize("width", [320, 1280])
def test_address_breaks_at_its_signs_and_stays_what_it_is(site_of_ada, width):
    email = "ada.king.countess.of.lovelace@example.com"
    page = site_of_ada.log_in(site_of_ada.tab(viewport={"width": width, "height": 800}))
    heading(page, "Your account")
    page.goto("/people#invitations")
    page.locator(".tabs [href='#everyone']").click()
    invite(page, email)
    says(page, "Invitation sent")
    page.locator(".tabs [href='#invitations']").click()
    row = page.locator("#invitations [data-text=email]", has_text=email)
    row.wait_for()

    assert row.inner_text().replace("\n", "") == email  # copied, it is what it was
    assert row.locator("wbr").count() == 6
    lines = row.evaluate(LINES)
    assert lines == 1 if width > 1000 else lines > 1
    assert look(page, f"long-address-{width}") == []


def test_password_that_is_shown_is_hidden_before_it_is_sent(site_of_ada):
    page = site_of_ada.tab("/login")
    page.locator("[name=email]").fill("ada@example.com")
    page.locator("[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Show").click()
    assert page.locator("[name=password]").get_attribute("type") == "text"
    page.route("**/auth/login", lambda route: None)

    page.keyboard.press("Tab")
    page.get_by_role("button", name="Sign in", exact=True).click()

    assert page.locator("[name=password]").get_attribute("type") == "password"
