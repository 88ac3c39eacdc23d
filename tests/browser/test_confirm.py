"""Re-authentication at the company's provider, by an admin who has no password."""

from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import Site, confirm, heading, press, says, serve
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
    press(page, "Remove example.com?")
    confirm(page, "Remove example.com?")
    press(page, "Confirm at Nordwind's provider")
    says(page, "Confirmed. Finish within five minutes.")
    assert urlsplit(page.url).fragment == "sign-in"

    press(page, "Remove example.com?")
    confirm(page, "Remove example.com?")
    page.locator("dialog[open] [data-confirmed]").wait_for()
    press(page, "Continue")
    says(page, "Saved.")
    assert company.query("SELECT count(*) FROM accounts_domain") == [(0,)]
    assert page.evaluate("sessionStorage.getItem('proof')") is None


def test_account_page_is_true_for_a_user_of_the_provider(company):
    page = company.tab("/login")
    page.locator("[name=email]").fill(ADA)
    page.keyboard.press("Tab")
    press(page, "Continue with Nordwind")
    heading(page, "Your account")

    page.get_by_text("You sign in with Nordwind's account.").wait_for()
    text = page.locator("main").inner_text()
    assert "Sign out everywhere" in text
    for wrong in ("Only your password", "Add a passkey", "Change password", "authenticator app"):
        assert wrong not in text, wrong
    assert page.locator("summary:visible", has_text="E-mail address").count() == 0
    assert see(page) == []
