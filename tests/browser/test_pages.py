"""What every page is looked at for: barriers that axe-core finds, on a phone and on a desk."""

import pytest

from tests.browser.conftest import until
from tests.browser.helpers import OPEN, look

pytestmark = pytest.mark.browser

OPEN += ["forgot-password", "change-password", "sso", "docs"]
TOP = """(({y}) => -1 < y && y < 100)(
    document.getElementById("operations-auth-signUp").getBoundingClientRect())"""


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
