"""A new password, set on the account page."""

import pytest

from tests.browser.conftest import fill, heading, made, open_row, says
from tests.browser.helpers import leave, look, prove
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser
NEW = "a brand new password"
FORM = "form[data-call='POST /auth/password']"


def change(page, password=PASSWORD, new=NEW):
    open_row(page, "Password")
    page.locator("#new_password").fill(new)
    page.locator(f"{FORM} button[type=submit]").click()
    prove(page, password)


def test_password_is_changed_and_only_this_session_goes_on(page):
    other = page.site.account()
    open_row(page, "Password")
    assert look(page, "change-password-row") == []
    open_row(page, "Password")

    change(page)

    says(page, "Password changed.")
    assert page.locator("#username").input_value() == "ada@example.com"
    assert page.locator("#new_password").input_value() == ""
    assert not page.locator("#new_password").is_visible()
    other.reload()
    says(other, "Your session has ended. Sign in again.")
    page.reload()
    made(page, "Your account")
    leave(page)
    fill(page, password=NEW)
    heading(page, "Your account")


def test_errors_stand_beside_their_fields(page):
    open_row(page, "Password")
    page.locator("#new_password").fill("short")
    page.keyboard.press("Enter")
    page.locator("#new_password-error", has_text="At least").wait_for()
    assert not page.locator("#proof").is_visible()
    open_row(page, "Password")
    change(page, new="Ada Lovelace 1815")
    page.locator("#new_password-error", has_text="too close to your name").wait_for()

    page.locator("#new_password").fill(NEW)
    page.keyboard.press("Enter")
    prove(page, "a wrong guess")

    says(page, "Incorrect password.")
    page.locator("#proof-password:focus").wait_for()
    assert page.locator("#new_password").input_value() == NEW
