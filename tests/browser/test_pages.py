"""What every page is looked at for: barriers that axe-core finds, on a phone and on a desk."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser.conftest import DESKTOP, PHONE, SCREENSHOTS, settled, until

pytestmark = pytest.mark.browser

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
OPEN = ["", "signup", "complete-signup", "login", "login/", "accept-invitation"]
OPEN += ["forgot-password", "change-password", "sso", "docs"]
CONTRAST = ["color-contrast"]  # all that a dark scheme changes
TOP = """(({y}) => -1 < y && y < 100)(
    document.getElementById("operations-auth-signUp").getBoundingClientRect())"""
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


def opened(page, call):
    """A call of the documentation, opened to be tried."""
    operation = page.locator(f"#operations-{call}")
    operation.locator(".opblock-summary-control").click(timeout=30_000)
    operation.get_by_role("button", name="Try it out").click()
    return operation


def test_documentation_opens_at_its_top_lists_its_calls_and_leads_back(site):
    page = site.tab("/docs")
    listed = page.locator("#calls a", has_text="/auth/signup")
    listed.wait_for(timeout=30_000)
    assert page.evaluate("scrollY") == 0
    order = page.locator("#calls a").all_inner_texts()
    assert "/auth/login" in order[0]
    assert "/.well-known/jwks.json" in order[-1]

    listed.click()
    page.locator("#operations-auth-signUp.is-open").wait_for()
    until(page, TOP)  # the page's script scrolls once the call is open
    status = page.locator("#operations-auth-signUp td.response-col_status").first
    assert status.bounding_box()["width"] >= 60
    assert look(page, "docs-opened") == []

    page.get_by_role("link", name="Consulting management").click()
    page.wait_for_url(f"{site.url}/")
    assert page.locator("img").count() == 1
    assert page.locator("main a[href='/docs']").count() == 0


def test_documentation_can_be_tried(site):
    operation = opened(site.tab("/docs"), "health-getHealth")

    operation.get_by_role("button", name="Execute").click()

    operation.get_by_text('"database": "ok"').first.wait_for()


def test_documentation_takes_over_the_token_of_a_log_in(site_of_ada):
    page = site_of_ada.tab("/docs", color_scheme="dark")
    operation = opened(page, "auth-logIn")

    operation.get_by_role("button", name="Execute").click()

    page.locator(".btn.authorize.locked").wait_for()


def test_content_can_be_skipped_to(site):
    page = site.tab("/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")

    page.locator("main:focus").wait_for()
