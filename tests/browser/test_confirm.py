"""Re-authentication at the company's provider, by an admin who has no password."""

from urllib.parse import urlsplit

import pytest
from django.contrib.auth.hashers import make_password

from tests.browser.conftest import PHONE, confirm, heading, press, says, until
from tests.browser.helpers import see
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser
ADA = "ada@example.com"


def test_admin_without_a_password_confirms_at_the_provider(company):
    page = company.tab("/login")
    page.locator("[name=email]").fill(ADA)
    page.keyboard.press("Tab")
    press(page, "Continue with Nordwind")
    heading(page, "Your account")

    page.goto("/people#sign-in")
    page.locator("[data-edit-step]:visible").first.click()
    press(page, "Remove example.com?")
    confirm(page, "Remove example.com?")
    press(page, "Confirm at Nordwind's provider")
    says(page, "Confirmed. Finish within five minutes.")
    assert urlsplit(page.url).fragment == "sign-in"

    page.locator("[data-edit-step]:visible").first.click()
    press(page, "Remove example.com?")
    confirm(page, "Remove example.com?")
    page.locator("dialog[open] [data-confirmed]").wait_for()
    press(page, "Continue")
    says(page, "Saved.")
    assert company.query("SELECT count(*) FROM accounts_domain") == [(0,)]
    assert page.evaluate("sessionStorage.getItem('proof')") is None


def test_finished_steps_fold_and_the_present_one_is_in_view(company):
    company.query(
        "UPDATE accounts_connection SET tested_at = NULL, active = false, required = false,"
        " last_problem = 'token: invalid_client', last_problem_at = now()"
    )
    company.query("UPDATE accounts_user SET password = %s", make_password(PASSWORD))
    page = company.account()
    page.set_viewport_size(PHONE)
    page.goto("/people#sign-in")

    step = page.locator("[aria-current=step]")
    step.wait_for()
    assert step.locator("h3").inner_text() == "Test it"
    assert "The provider refused the client secret." in step.inner_text()
    until(page, "document.querySelector('[data-test]').getBoundingClientRect().bottom < 640")
    lines = page.locator("[data-step-line]:visible > span").all_inner_texts()
    assert lines == ["example.com", company.provider.issuer]
    assert page.locator("[data-step]:visible").count() == 1
    page.locator("[data-edit-step]:visible").nth(1).click()
    assert page.locator("#issuer").input_value() == company.provider.issuer
    page.locator("[data-provider-kind]").select_option("Okta")
    assert page.locator("[data-guide]:visible li").count() == 3
    page.locator("[data-edit-step]:visible").first.click()
    page.locator("#domain").fill("example.org")
    press(page, "Add domain")
    record = page.locator("[data-unproved]:visible .record")
    record.wait_for()
    assert record.locator("dt").all_inner_texts() == ["Type", "Name", "Value"]
    assert record.get_by_role("button").count() == 2
    assert see(page) == []


def test_account_page_is_true_for_a_user_of_the_provider(company):
    page = company.tab("/login")
    page.locator("[name=email]").fill(ADA)
    page.keyboard.press("Tab")
    press(page, "Continue with Nordwind")
    heading(page, "Your account")

    page.get_by_text("You sign in with Nordwind's account.").wait_for()
    text = page.locator("main").inner_text()
    assert "Sign out everywhere" in text
    for wrong in (
        "Only your password",
        "Add a passkey",
        "signs you out on your other",
        "authenticator app",
    ):
        assert wrong not in text, wrong
    assert page.locator("summary:visible", has_text="E-mail address").count() == 0
    assert see(page) == []
