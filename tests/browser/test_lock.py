"""Who is locked out is told what helps, in no circle, on every page that meets a lock."""

import pytest

from tests.browser.conftest import fill, heading, says
from tests.browser.helpers import add_passkey, look
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

MINUTE = 61_000  # milliseconds: a window of the limits


UNLOCK = "DELETE FROM throttling_lockout"


def lock(page):
    """Strangers guess, and the browser is none that the service knows: it would not be locked."""
    page.context.clear_cookies(name="service_device")
    page.site.guess()
    page.clock.install()
    page.reload()
    says(page, "Keep this page open: it continues automatically in")


def test_advice_at_a_lock_holds_until_its_end(site_of_ada):
    site_of_ada.guess()
    page = site_of_ada.tab("/login", locale="de")
    fill(page, email="ada@example.com", password=PASSWORD)
    says(page, "Klappt es nicht, ist diese Adresse 15 Minuten gesperrt.")
    assert look(page, "locked") == []
    assert page.locator(".card #status").bounding_box()["height"] < 130  # five lines
    page.locator("a.aside").click()
    page.locator("main form[data-sent]").wait_for()
    fill(page, email="ada@example.com")
    page.goto(site_of_ada.mailed_link(page="/change-password"))
    page.locator("[autocomplete=username]:visible").wait_for()
    fill(page, password="a new and better one")
    says(page, "bei Sperre 15 Minuten. Ihr Link bleibt gültig.")
    site_of_ada.query(UNLOCK)

    page.locator("main form button:not([type])").click()

    heading(page, "Your account")  # Ada's own language


def test_signed_in_person_at_a_lock_reads_how_long_and_what_works(page):
    lock(page)
    assert page.locator("#status a").count() == 0

    page.clock.run_for(MINUTE)

    says(page, "within 15 minutes.")
    assert page.locator("#status a").all_inner_texts()[1] == "Reset your password"
    assert look(page, "lock") == []
    page.locator("#status a").last.click()
    page.locator("main form[data-sent] [name=email]:focus").wait_for()
    page.site.query(UNLOCK)
    page.goto("/profile")
    page.get_by_text("ada@example.com").filter(visible=True).wait_for()


def test_passkey_works_while_the_address_is_locked(page):
    key = add_passkey(page)
    lock(page)
    page.clock.run_for(MINUTE)
    key.leave_unseen(lambda page: page.locator("#status a", has_text="Sign in").click())

    page.get_by_role("button", name="Use a passkey").click()

    page.locator("#profile", has_text="ada@example.com").wait_for()
