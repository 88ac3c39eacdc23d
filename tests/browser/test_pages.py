"""Each page as a person sees it: no barrier that axe-core finds, on a phone and on a desk."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser.conftest import (
    DESKTOP,
    PHONE,
    SCREENSHOTS,
    fill,
    heading,
    invite,
    open_tab,
    says,
    settled,
)

pytestmark = pytest.mark.browser

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
OPEN = ["", "signup", "complete-signup", "login", "login/", "accept-invitation"]
OPEN += ["forgot-password", "change-password", "docs"]


def violations(page):
    """What axe-core finds; its script comes from disk, past the page's policy."""
    page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found = page.evaluate("axe.run({ preload: false }).then(result => result.violations)")
    return [
        f"{v['id']}: {node['target']} {node['html'][:200]}" for v in found for node in v["nodes"]
    ]


def look(page, name):
    settled(page)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=not name.startswith("docs"))
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return violations(page) + (["wider than the screen"] if wide else [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "viewport"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_pages_for_strangers(site, device, viewport, scheme):
    page = site.tab("/", viewport=viewport, color_scheme=scheme)
    found = {}
    for name in OPEN:
        page.goto(f"/{name}#token={'A' * 64}" if name.startswith("change") else f"/{name}")
        if name == "docs":
            page.locator("[aria-label=About]").wait_for(timeout=30_000)
        shot = name.replace("/", "-missing") or "home"
        found[name] = look(page, f"{shot}-{device}-{scheme}")
    page.goto("/forgot-password")
    fill(page, email="ada@example.com")
    found["sent"] = look(page, f"sent-{device}-{scheme}")

    assert not any(found.values()), found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "viewport"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_pages_for_members(site_of_ada, device, viewport, scheme):
    page = site_of_ada.log_in(
        site_of_ada.tab("/login", viewport=viewport, color_scheme=scheme), password="wrong guess"
    )
    says(page, "Incorrect e-mail or password.")
    found = {"refused": look(page, f"refused-{device}-{scheme}")}
    site_of_ada.log_in(page)
    page.get_by_text("ada@example.com").wait_for()
    found["account"] = look(page, f"account-{device}-{scheme}")
    page.goto("/people")
    invite(page, "somebody.with.a.long.name@example.com")
    says(page, "Invitation sent to")
    found["people"] = look(page, f"people-{device}-{scheme}")
    open_tab(page, "invitations")
    page.get_by_label("Actions for somebody.with.a.long.name@example.com").click()
    page.get_by_role("button", name="Revoke").click()
    found["question"] = look(page, f"question-{device}-{scheme}")
    page.get_by_role("button", name="Cancel").click()
    page.goto(site_of_ada.mailed_link())
    heading(page, "Join Operators")
    page.locator("[name=password]").fill("short")
    page.locator("[name=first_name]").focus()
    found["join"] = look(page, f"join-{device}-{scheme}")

    assert not any(found.values()), found


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
