"""Phones: fingers find what is theirs first, and nothing wraps that is one row."""

import pytest

from tests.browser.conftest import PHONE, fill, heading, open_company, open_tab, press, settled
from tests.browser.helpers import prove, violations
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser
TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}


def box(page, selector):
    return page.locator(f"{selector}:visible").bounding_box()


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_phone_has_the_passkey_first_one_row_of_tabs_and_wide_buttons(site_of_ada, language):
    site_of_ada.query("UPDATE accounts_user SET language = %s", language)
    page = site_of_ada.tab("/login", locale=language, **TOUCH)
    passkey = page.locator("button[data-log-in]:visible")
    assert passkey.bounding_box()["y"] < box(page, "[name=email]")["y"]
    fill(page, email="ada@example.com", password=PASSWORD)
    page.locator("[data-protection]:not(:empty)").wait_for()

    page.locator("[data-set-up=app]").click()
    prove(page)
    page.locator("a[data-uri]:visible").wait_for()
    code, link = box(page, "[data-qr] svg"), box(page, "a[data-uri]")
    assert abs(code["y"] + code["height"] - link["y"]) < 40
    assert link["y"] + link["height"] < PHONE["height"]
    assert violations(page) == []
    page.keyboard.press("Escape")

    open_company(page)
    open_tab(page, "settings")
    settled(page)  # the overview takes the button above the tabs away
    rows = {round(tab.bounding_box()["y"]) for tab in page.locator(".tabs a").all()}
    assert len(rows) == 1
    current = box(page, ".tabs [aria-current]")
    assert 0 <= current["x"] < current["x"] + current["width"] <= PHONE["width"]
    page.locator("[data-sign-out=here]").wait_for()
    page.goto("/profile")
    settled(page)
    page.locator("[data-sign-out=everywhere]").click()
    widths = {round(one.bounding_box()["width"]) for one in page.locator("#confirm button").all()}
    assert len(widths) == 1
    assert widths.pop() > PHONE["width"] / 2
    assert violations(page) == []


def test_desk_has_the_password_first(site_of_ada):
    page = site_of_ada.tab("/login")

    heading(page, "Sign in")
    passkey = page.locator("button[data-log-in]:visible")
    assert passkey.bounding_box()["y"] > box(page, "[name=password]")["y"]
    fill(page, email="ada@example.com", password=PASSWORD)
    heading(page, "Your account")
    press(page, "Sign out")
