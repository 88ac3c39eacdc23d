"""The way past a lock that strangers brought about, from the mail to the next log-in."""

import pytest

from tests.browser.conftest import SCREENSHOTS
from tests.conftest import PASSWORD
from tests.requests import ask

pytestmark = pytest.mark.browser


def test_owner_of_a_locked_address_gets_in_by_the_mailed_link(new_site):
    site = new_site(DEVICE_LOCKOUT="true", RATE_LIMIT_CREDENTIAL="100")
    site.operator()
    wrong = {"email": "ada@example.com", "password": "a wrong guess"}
    for _ in range(5):
        assert ask(site.service.url, "POST", "/auth/login", wrong).status == 401
    page = site.tab(site.mailed_link())
    page.get_by_role("button", name="Unlock").wait_for()
    page.screenshot(path=SCREENSHOTS / "unlock.png")
    page.get_by_role("button", name="Unlock").click()
    page.get_by_text("You can sign in again.").wait_for()
    page.locator("[name=password]:enabled").fill(PASSWORD)  # the address is filled in
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your account").wait_for()

    device = page.locator("#devices tr", has_text="This device · Last used on")
    device.get_by_text("From the network 127.0.0.0/24").wait_for()
    device.get_by_label("Actions for Chrome, Linux").click()
    device.get_by_role("button", name="Remove").click()
    page.get_by_role("heading", name="Remove Chrome, Linux?").wait_for()
    page.locator("dialog [value=yes]").click()
    page.get_by_text("No devices yet. They appear here when you sign in.").wait_for()

    elsewhere = ask(site.service.url, "POST", "/auth/login", wrong)
    assert elsewhere.status == 401  # the strangers' count began anew
