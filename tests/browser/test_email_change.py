"""Change e-mail address, asked for on the own page: with a second factor where there is one."""

import pytest

from tests.browser.conftest import fill, heading, open_row, press, says, until
from tests.browser.helpers import add_app, add_passkey, code, look, prove
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

FORM = "form[data-call='POST /auth/email-changes']"


def ask_for(page, email, password=PASSWORD):
    open_row(page, "E-mail address")
    page.locator("[name=email]").fill(email)
    page.locator(f"{FORM} button[type=submit]").click()
    prove(page, password)


def test_link_asks_for_the_session_of_the_account_that_it_names(site_of_ada, bob, page):
    ask_for(page, "lovelace@example.com")
    says(page, "lovelace@example.com")
    other = site_of_ada.tab(site_of_ada.mailed_link())
    heading(other, "Sign in")
    says(other, "Sign in to use the link in your e-mail.")
    fill(other, email="bob@example.com", password=PASSWORD)
    other.get_by_text("The account ada@example.com will use lovelace@example.com").wait_for()
    other.get_by_role("button", name="Use this address").click()

    says(other, "This link is for another account.")


def test_code_of_the_app_is_asked_for_in_a_second_step(page):
    secret, _ = add_app(page)
    ask_for(page, "lovelace@example.com")
    page.locator("#proof-code:focus").wait_for()
    assert look(page, "email-change-code") == []

    page.locator("#proof-code").fill(code(secret, 1))

    says(page, "we've sent a link to lovelace@example.com")
    ask_for(page, "byron@example.com", "wrong guess")  # ready for the next time
    says(page, "Incorrect password.")


def test_wrong_code_is_said_and_a_recovery_code_taken(page):
    _, codes = add_app(page)
    ask_for(page, "lovelace@example.com")
    page.locator("#proof-code").fill("000000")
    says(page, "Wrong code.")

    press(page, "Use a recovery code")
    page.locator("#proof-code").fill(codes[0])
    press(page, "Continue")

    says(page, "we've sent a link to lovelace@example.com")


def test_passkey_is_shown_beside_the_password(page):
    add_passkey(page)
    ask_for(page, "lovelace@example.com")

    press(page, "Use a passkey")

    says(page, "we've sent a link to lovelace@example.com")


def test_dialog_of_a_page_of_release_3_1_takes_the_password(page):
    """That page has no address for password managers, and may get this release's scripts."""
    page.locator("#proof [autocomplete=username]").evaluate("field => field.remove()")

    ask_for(page, "lovelace@example.com")

    says(page, "we've sent a link to lovelace@example.com")


def test_wrong_password_begins_again(page):
    add_app(page)
    ask_for(page, "lovelace@example.com", "wrong guess")

    says(page, "Incorrect password.")
    page.locator("#proof-password:focus").wait_for()
    assert not page.locator("#proof-code").is_visible()
    username = page.locator("#proof [autocomplete=username]")  # for password managers
    assert username.input_value() == "ada@example.com"
    page.keyboard.press("Escape")
    page.locator("#proof[open]").wait_for(state="detached")
    assert page.locator("[name=email]").input_value() == "lovelace@example.com"


def test_undoing_leads_to_a_new_password_with_the_address_filled_in(site_of_ada, page):
    """Somebody else may know the password, which is enough without a second factor."""
    ask_for(page, "lovelace@example.com")
    says(page, "we've sent a link to lovelace@example.com")
    page.goto(site_of_ada.mailed_link())
    page.get_by_role("button", name="Use this address").click()
    page.locator("#profile", has_text="lovelace@example.com").wait_for()

    page.goto(site_of_ada.mailed_link(to="ada@example.com"))
    page.get_by_text("You'll then sign in with ada@example.com again.").wait_for()
    page.locator("form[data-email-change=undo] button").click()

    page.wait_for_url("**/forgot-password")
    until(page, "document.querySelector('[name=email]').value === 'ada@example.com'")


def test_waiting_change_is_sent_again_and_cancelled(site_of_ada, page):
    row = page.locator("[data-waiting-address]")
    assert not row.is_visible()
    ask_for(page, "lovelace@example.com")
    row.get_by_text("lovelace@example.com").wait_for()
    link = site_of_ada.mailed_link(page="/change-email")
    page.reload()
    row.get_by_text("lovelace@example.com").wait_for()
    assert look(page, "waiting-change") == []

    press(page, "Resend")
    says(page, "Sent again.")
    press(page, "Cancel change")

    says(page, "Cancelled. Your address stays as it is.")
    assert not row.is_visible()
    page.goto(link)
    page.get_by_role("button", name="Use this address").click()
    page.get_by_text("This link is no longer valid.").wait_for()


def test_taken_address_waits_like_a_free_one(bob, page):
    ask_for(page, "bob@example.com")

    page.locator("[data-waiting-address]").get_by_text("bob@example.com").wait_for()
