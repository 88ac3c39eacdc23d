"""What people do with the pages, from the first mail to the locked door."""

import re

import pytest

from tests.browser.conftest import fill, first_of, heading, hold, invited, made, open_row, says
from tests.cast import PASSWORD
from tests.clients import TOO_MANY_ATTEMPTS

pytestmark = pytest.mark.browser


def test_person_signs_up_and_stays_signed_in(site):
    page = site.tab("/signup")
    fill(page, email="ada@example.com")
    page.get_by_text("Check your inbox").wait_for()
    page.goto(site.mailed_link())
    assert "#" not in page.url
    person = {"first_name": "Ada", "last_name": "Lovelace", "password": PASSWORD}

    fill(page, account_name="Analytical Engines", **person)

    heading(page, "Your account")
    page.reload()
    page.get_by_text("ada@example.com").filter(visible=True).wait_for()


def test_sign_out_in_one_tab_signs_out_the_other(site_of_ada):
    first = site_of_ada.account()
    second = first.context.new_page()
    second.goto("/people")
    made(second, "Company")

    first.get_by_role("button", name="Sign out", exact=True).click()

    heading(first, "Sign in")
    heading(second, "Sign in")
    second.reload()
    heading(second, "Sign in")
    left = {cookie["name"] for cookie in first.context.cookies()}
    assert left == {"service_device", "service_browser"}


def test_page_that_is_being_made_while_another_tab_signs_out_leads_to_the_log_in(site_of_ada):
    first = site_of_ada.account()
    second = first.context.new_page()
    held = hold(second, re.compile("/users"))
    second.goto("/people")
    first_of(second, held)

    first.get_by_role("button", name="Sign out", exact=True).click()
    heading(first, "Sign in")
    held[-1].continue_()

    heading(second, "Sign in")


def test_log_in_leads_to_the_tab_that_was_wanted(site_of_ada):
    page = site_of_ada.tab("/people#settings")
    heading(page, "Sign in")

    fill(page, email="ada@example.com", password=PASSWORD)

    page.locator("[data-tab=settings]").wait_for()
    assert page.url.endswith("/people#settings")


def test_colleague_is_invited_and_accepts(site_of_ada):
    page = invited(site_of_ada, "bob@example.com")
    other = site_of_ada.tab(site_of_ada.mailed_link())
    heading(other, "Join Operators")
    assert other.locator("[autocomplete=username]").input_value() == "bob@example.com"

    fill(other, first_name="Bob", last_name="Boole", password=PASSWORD)

    heading(other, "Your account")
    says(other, "You've joined Operators")
    assert other.get_by_role("link", name="Company", exact=True).count() == 0
    page.reload()
    page.locator("#people").get_by_text("Bob Boole").wait_for()
    page.locator("[data-overview]:visible").wait_for()
    assert not page.locator("[data-text=invitations]").is_visible()  # there are none


def test_new_password_ends_the_other_session(site_of_ada):
    other = site_of_ada.account()
    page = site_of_ada.password_page()

    fill(page, password="a new and better one")

    says(page, "Password changed.")
    heading(page, "Your account")
    other.get_by_role("link", name="Company", exact=True).click()
    heading(other, "Sign in")


def test_signed_in_person_at_the_limit_waits_and_goes_on(site_of_ada):
    page = site_of_ada.account()
    limited = {"status": 429, "json": TOO_MANY_ATTEMPTS, "headers": {"Retry-After": "30"}}
    page.route("**/auth/refresh", lambda route: route.fulfill(**limited), times=1)
    page.clock.install()

    page.reload()

    says(page, "it continues automatically in 30 seconds.")
    assert page.get_by_role("link", name="Company", exact=True).is_visible()
    assert page.locator("main [name=first_name]").is_disabled()
    page.clock.run_for(31_000)
    page.get_by_text("ada@example.com").filter(visible=True).wait_for()
    page.locator("main [name=first_name]:enabled").wait_for(state="attached")
    assert page.locator("main [name=first_name]").input_value() == "Ada"
    assert page.locator("#status").inner_text() == ""


def test_language_is_kept_with_the_person(site_of_ada):
    page = site_of_ada.account()

    open_row(page, "Language")
    page.locator("#language").select_option("sv")
    page.locator("main form button:not([type]):visible").click()

    heading(page, "Ditt konto")
    says(page, "Sparat.")
    other = site_of_ada.tab("/login", locale="de")
    heading(other, "Anmelden")
    fill(other, email="ada@example.com", password=PASSWORD)
    heading(other, "Ditt konto")


def test_language_of_the_account_wins_and_is_changed_only_when_asked(site_of_ada):
    page = site_of_ada.account(locale="sv")
    page.get_by_role("button", name="Deutsch").click()
    heading(page, "Ihr Konto")
    says(page, "Dieser Browser zeigt jetzt Deutsch.")
    assert page.locator("#language").input_value() == "en"

    page.get_by_role("button", name="Auch für mein Konto und E-Mails verwenden").click()

    says(page, "Gespeichert.")
    page.reload()
    page.locator("#language:enabled").wait_for(state="attached")
    assert page.locator("#language").input_value() == "de"
    assert not page.get_by_text("Dieser Browser zeigt").is_visible()
