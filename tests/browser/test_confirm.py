"""Re-authentication at the company's provider, by an admin who has no password."""

from urllib.parse import urlsplit

import pytest
from django.contrib.auth.hashers import make_password

from tests.browser.conftest import PHONE, Site, confirm, heading, press, says, serve, until
from tests.browser.helpers import see
from tests.cast import PASSWORD
from tests.requests import ask
from tests.sso.provider import CLIENT, SECRET, Provider

pytestmark = pytest.mark.browser
ADA = "ada@example.com"


class Company(Site):
    """Ada's, which requires its provider, where she has an account and no password here."""

    provider: Provider

    def set_up(self):
        self.operator()
        self.query("UPDATE accounts_user SET is_staff = false, is_superuser = false")
        self.query("UPDATE accounts_account SET name = 'Nordwind', is_operators = false")
        body = {"email": ADA, "password": PASSWORD}
        token = ask(self.url, "POST", "/auth/login", body).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        ask(self.url, "POST", "/account/domains", {"name": "example.com"}, **headers)
        client = {"issuer": self.provider.issuer, "client_id": CLIENT, "client_secret": SECRET}
        put = ask(self.url, "PUT", "/account/connection", client | body, **headers)
        assert put.status == 200, put
        self.query("UPDATE accounts_domain SET proved_at = now()")
        self.query(
            "UPDATE accounts_connection SET tested_at = now(), active = true, required = true,"
            " trusts_emails = true"
        )
        self.query("UPDATE accounts_user SET password = '!'")

    def person(self, **options):
        return super().person(ignore_https_errors=True, **options)


@pytest.fixture
def company(new_service, browser, tmp_path):
    with Provider(tmp_path) as provider:
        provider.be_honest()
        provider.browsing = {"sub": "ada", "email": ADA}
        company = Company(new_service(), browser)
        company.provider = provider
        company.service.environment |= {
            "SERVICE_URL": company.url,
            "RATE_LIMIT_CREDENTIAL": "10000",
            "SSL_CERT_FILE": str(provider.authority),
            "SSO_PRIVATE_ISSUERS": provider.issuer,
        }
        serve(company.service)
        company.set_up()
        yield company
        for context in company.contexts:
            context.close()
        assert company.complaints == []


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
