"""An admin sets up company sign-in and confirms changes, by password or at the provider."""

from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import (
    PHONE,
    act,
    confirm,
    first_of,
    heading,
    hold,
    open_tab,
    press,
    says,
    settled,
    until,
)
from tests.browser.helpers import add_app, code, prove, prove_by_recovery_code, see
from tests.sso.provider import SECRET

pytestmark = pytest.mark.browser
ADA = "ada@example.com"
UNTESTED = {"tested_at": None, "active": False, "required": False, "last_problem_at": "now"}


def test_admin_without_a_password_confirms_at_the_provider(company):
    page = company.account_by_provider()

    page.goto("/people#sign-in")
    page.locator("[data-edit-step]:visible").nth(1).click()
    page.locator("#client-secret").fill(SECRET)
    page.locator("[name=trusts_emails]").uncheck()
    press(page, "Save provider")
    page.locator("#proof[open]").wait_for()
    assert not page.locator("#proof-password").is_visible()
    until(page, "document.activeElement.matches('[data-confirm]')")
    assert see(page) == []
    with page.expect_popup() as popup:
        press(page, "Confirm at Nordwind's provider")
    says(page, "Provider saved.")
    assert company.query("SELECT trusts_emails FROM accounts_connection") == [(False,)]
    tab = popup.value
    assert tab.is_closed() or tab.wait_for_event("close")


def test_admin_who_must_sign_in_there_still_confirms_by_password(company):
    """The provider may be what is broken."""
    page = company.account_by_provider()
    company.give_ada_a_password(required=True)
    page.goto("/people#sign-in")
    press(page, "Remove")
    confirm(page, "Remove company sign-in?")
    page.locator("#proof [data-confirm]:visible").wait_for()
    prove(page)
    heading(page, "Sign in")  # her session, which began there, has ended
    assert company.query("SELECT count(*) FROM accounts_connection") == [(0,)]


def test_answer_that_is_not_about_the_proof_gives_the_form_back(company):
    company.give_ada_a_password(required=False)
    page = company.account()
    secret, codes = add_app(page)
    page.goto("/people#sign-in")
    page.locator("[data-edit-step]:visible").nth(1).click()
    page.locator("#client-secret").fill(SECRET)
    page.locator("#issuer").fill(f"{company.provider.issuer}/")
    press(page, "Save provider")
    prove(page, code=code(secret, 1))
    page.locator("#issuer-error", has_text="The provider calls itself by another name.").wait_for()
    until(page, "document.activeElement.id === 'issuer'")
    assert not page.locator("#proof").is_visible()
    assert page.locator("#client-secret").input_value() == SECRET

    page.locator("#issuer").fill(company.provider.issuer)
    press(page, "Save provider")
    prove_by_recovery_code(page, codes[0])
    says(page, "Provider saved.")
    page.locator("[data-edit-step][aria-expanded=true]").wait_for(state="detached")  # folded

    page.locator("[data-edit-step]:visible").nth(3).click()
    page.locator("[name=required]").check()
    press(page, "Save changes")
    prove_by_recovery_code(page, codes[1])
    says(page, "First let an admin keep a password")
    assert page.get_by_role("link", name="Show admins").is_visible()
    press(page, "Remove")
    confirm(page, "Remove company sign-in?")
    press(page, "Cancel")
    assert page.locator("[name=required]").is_checked()


def test_tabs_load_what_they_show_when_they_are_opened(company):
    company.give_ada_a_password(required=False)
    page, calls = company.account(), []
    settled(page)
    page.on("request", lambda request: calls.append(urlsplit(request.url).path))

    page.goto("/people")
    page.locator("#team:visible").wait_for()  # which moves the row
    act(page, "Ada Lovelace", "Let keep a password")  # since the provider has been tested
    says(page, "This admin needs a password and two-factor authentication first.")
    assert not {"/account", "/account/connection", "/account/domains"} & set(calls)

    late = hold(page, "**/account/connection")
    open_tab(page, "settings")
    page.locator("[data-tab=settings] [href='#sign-in']").click()
    page.locator("[data-tab=sign-in]:visible").wait_for()
    first_of(page, late).continue_()
    page.locator("[data-edit-step]:visible").first.wait_for()
    open_tab(page, "settings")
    page.locator("[data-provider-state]", has_text="On").wait_for()
    settled(page)
    assert calls.count("/account/connection") == 1


def test_form_is_checked_before_the_dialog_and_outlives_a_reload(company):
    company.give_ada_a_password(required=False)
    page = company.account()
    page.goto("/people#sign-in")
    page.locator("[data-edit-step]:visible").nth(1).click()
    page.locator("#client-id").fill("another")
    page.locator("[aria-controls=client-secret]").click()  # shows it
    page.locator("#client-secret[type=text]").fill(SECRET)
    page.locator("#issuer").fill(company.provider.issuer.replace("https", "http"))
    press(page, "Save provider")
    page.locator("#issuer-error", has_text="Enter an https address").wait_for()
    assert not page.locator("#proof").is_visible()

    page.locator("#issuer").fill(company.provider.issuer)
    page.reload()
    page.locator("#client-id:visible").wait_for()
    assert page.locator("#client-id").input_value() == "another"
    assert page.locator("#client-secret").input_value() == ""
    assert SECRET not in page.evaluate("JSON.stringify(sessionStorage)")

    page.locator("#client-secret").fill(SECRET)
    press(page, "Save provider")
    prove(page)
    says(page, "Provider saved.")
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => /provider/.test(key))") == []


def test_finished_steps_fold_and_the_present_one_is_in_view(company):
    company.give_ada_a_password(**UNTESTED, last_problem="token: invalid_client")
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


def test_problems_are_told_as_what_to_do(company):
    company.give_ada_a_password(**UNTESTED)
    page = company.account()
    advice = {
        "token: status": "Its log says why.",
        "metadata: timeout": "Try again in a minute.",
        "ID token: InvalidAudienceError": "Copy the client ID again.",
        "unknown key": "Choose RS256",
        "e-mail address": "Add the claim email there.",
        "userinfo: sub": "(userinfo: sub). Its log or its support",
    }
    for problem, text in advice.items():
        company.query("UPDATE accounts_connection SET last_problem = %s", problem)
        page.goto("/health")
        page.goto("/people#sign-in")
        page.locator("[data-last-test]", has_text=text).wait_for()


UNDER_MESSAGE = """() =>
    document.querySelector("[data-switches] button").getBoundingClientRect().bottom
    > document.querySelector("#status").getBoundingClientRect().top"""


def test_switches_are_in_view_after_the_test(company):
    company.give_ada_a_password(active=False, required=False)
    page = company.account()
    page.set_viewport_size(PHONE)

    page.goto("/sso#tested=true")

    says(page, "The test succeeded.")
    page.locator("[aria-current=step] [data-switches]").wait_for()
    until(page, f"!({UNDER_MESSAGE})()")
    assert see(page) == []


def test_failed_confirmation_leads_back_to_where_the_user_may_go(company):
    company.give_ada_a_password(required=False)
    company.add_person("Bob Boole")
    for email, link in {ADA: "Back to the set-up", "bob@example.com": "Your account"}.items():
        page = company.account(email)
        page.goto("/sso#error=other_user")
        page.get_by_text("You signed in there as someone else.").wait_for()
        assert page.locator("main a:visible").all_inner_texts() == [link]


@pytest.mark.parametrize("required", [True, False])
def test_account_page_is_true_for_a_user_of_the_provider(company, required):
    company.query("UPDATE accounts_connection SET required = %s", required)
    page = company.account_by_provider()

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
