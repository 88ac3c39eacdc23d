"""What meets a person on a page: where the focus is, what is said, and what stands at its foot."""

import pytest

from tests.browser.conftest import PHONE, heading, invite, says
from tests.browser.helpers import KEY, LINKS, look, see
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

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


@pytest.mark.parametrize("typed", ["", "ada@example.com"])
def test_focus_is_in_the_first_field_and_the_page_is_announced(site, typed):
    page = site.tab("/login")
    page.locator("main [name=email]").fill(typed)

    page.locator("main a[href='/forgot-password']").click()

    page.locator("main form[data-sent] [name=email]:focus").wait_for()
    page.locator("#arrived", has_text="Reset your password").wait_for()
    assert page.locator("main [name=email]").input_value() == typed


def test_caps_lock_warning_is_shown(site):
    page = site.tab("/login")
    password = page.locator("main [name=password]:enabled")

    password.evaluate(KEY, True)

    page.get_by_text("Caps lock is on.").wait_for()
    assert look(page, "caps") == []
    password.evaluate(KEY, False)
    assert page.locator("main [data-caps]").inner_text() == ""


def test_unknown_address_is_a_page(site):
    page = site.person(locale="sv").new_page()

    assert page.goto("/nope/at/all").status == 404
    heading(page, "Sidan ")
    assert look(page, "nope") == []
    page.locator("main a.button").click()
    page.locator(".hero").wait_for()


def test_links_of_the_operators_fit(new_site):
    site = new_site(RATE_LIMIT_CREDENTIAL="100", **LINKS)
    site.operator()
    page = site.tab("/")
    for path in ("docs", "login"):
        page.goto(f"/{path}")
        if path == "docs":
            page.locator("[aria-label=About]").wait_for()  # drawn after its last request
        page.locator("nav[aria-label='About this service']").scroll_into_view_if_needed()
        assert see(page, f"{path}-links") == []
    page = site.account(viewport=PHONE)
    assert page.get_by_role("link", name="Legal notice").is_visible()
    page.goto("/admin/login/")  # a phone's, 320 px wide: nothing touches its edge
    first, last = (page.get_by_role("link", name=name) for name in ("Terms", "Legal notice"))
    edges = first.bounding_box()["x"], last.bounding_box()["x"] + last.bounding_box()["width"]
    assert edges[0] >= 16
    assert edges[1] <= 304


@pytest.mark.parametrize("width", [320, 1280])
def test_long_address_wraps_and_can_be_copied(site_of_ada, width):
    email = "ada.king.countess.of.lovelace@example.com"
    page = site_of_ada.account(viewport={"width": width, "height": 800})
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
