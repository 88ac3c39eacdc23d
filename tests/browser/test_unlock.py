"""The way past a lock that strangers brought about, from the mail to the next log-in."""

import pytest

from tests.browser.conftest import SCREENSHOTS, act, heading, press
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser


def test_owner_of_a_locked_address_gets_in_by_the_mailed_link(site_of_ada):
    site_of_ada.guess()
    page = site_of_ada.tab(site_of_ada.mailed_link())
    page.get_by_role("button", name="Unlock").wait_for()
    page.screenshot(path=SCREENSHOTS / "unlock.png")
    press(page, "Unlock")
    page.get_by_text("You can sign in again.").wait_for()
    page.locator("[name=password]:enabled").fill(PASSWORD)  # the address is filled in
    page.keyboard.press("Enter")
    heading(page, "Your account")

    device = page.locator("#devices tr", has_text="This device · Last used on")
    device.get_by_text("From the network 127.0.0.0/24").wait_for()
    act(page, "Chrome, Linux", "Remove", asks="Remove Chrome, Linux?")
    page.get_by_text("No devices yet. They appear here when you sign in.").wait_for()

    site_of_ada.guess()  # the strangers' count began anew
