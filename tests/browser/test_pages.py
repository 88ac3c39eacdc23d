"""Each page as a person sees it: no barrier that axe-core finds, on a phone and on a desk."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser.conftest import SCREENSHOTS, heading, settled

pytestmark = pytest.mark.browser

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
OPEN = ["", "signup", "complete-signup", "login", "login/", "accept-invitation"]
OPEN += ["forgot-password", "change-password", "docs"]


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
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=not name.startswith("docs"))
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return violations(page) + (["wider than the screen"] if wide else [])


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

    listed.click()
    page.locator("#operations-auth-signUp.is-open").wait_for()
    page.wait_for_timeout(1000)  # the page's script scrolls once the call is open
    top = page.locator("#operations-auth-signUp").bounding_box()["y"]
    assert -1 < top < 100
    status = page.locator("#operations-auth-signUp td.response-col_status").first
    assert status.bounding_box()["width"] >= 60
    assert look(page, "docs-opened") == []

    page.get_by_role("link", name="Consulting management").click()
    page.wait_for_url(f"{site.url}/")


def test_documentation_can_be_tried(site):
    operation = opened(site.tab("/docs"), "health-getHealth")

    operation.get_by_role("button", name="Execute").click()

    operation.get_by_text('"database": "ok"').first.wait_for()


def test_documentation_takes_over_the_token_of_a_log_in(site_of_ada):
    page = site_of_ada.tab("/docs", color_scheme="dark")
    operation = opened(page, "auth-logIn")

    operation.get_by_role("button", name="Execute").click()

    page.locator(".btn.authorize.locked").wait_for()


def test_page_works_by_keyboard_alone(site_of_ada):
    page = site_of_ada.tab("/login")
    page.locator("[name=email]:focus").wait_for()
    page.keyboard.type("ada@example.com")
    page.keyboard.press("Tab")
    page.keyboard.type("correct horse battery")
    page.keyboard.press("Enter")

    heading(page, "Your account")
    assert page.evaluate("document.activeElement.textContent") == "Your account"


def test_content_can_be_skipped_to(site):
    page = site.tab("/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")

    page.locator("main:focus").wait_for()


def test_admin_site_lives_under_the_policy(site_of_ada):
    page = site_of_ada.tab("/admin/")
    page.locator("[name=username]").fill("ada@example.com")
    page.locator("[name=password]").fill("correct horse battery")
    page.keyboard.press("Enter")

    page.get_by_role("link", name="People", exact=True).click()

    page.get_by_role("link", name="ada@example.com").click()
    page.locator("[name=_save]").wait_for()
