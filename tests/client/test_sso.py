"""Sign-in at npm's certified `oidc-provider`, in a real browser: set up, tested, used and required
on the pages, and used by a front-end on an origin of its own."""

import contextlib
import re
import subprocess
import uuid

import pytest
from cryptography import x509

from tests.browser.conftest import Site, fill, heading, press, says, serve, until
from tests.browser.helpers import prove, see
from tests.cast import PASSWORD
from tests.certificates import self_signed
from tests.client.conftest import FOLDER
from tests.client.helpers import built_at
from tests.requests import ask
from tests.servers import free_port, wait_for_port
from tests.sso.helpers import NameServer

pytestmark = pytest.mark.client

SECRET = "the provider's secret"


class Company(Site):
    """Ada's, which has a name server and a provider; neither asks anything outside this machine."""

    def __init__(self, service, browser, folder):
        super().__init__(service, browser)
        self.folder, self.provider_port = folder, free_port()
        self.issuer = f"https://localhost:{self.provider_port}"
        self.names = NameServer()
        certificate, _ = self_signed(folder, x509.DNSName("localhost"))
        service.environment |= {
            "SERVICE_URL": self.url,
            "RATE_LIMIT_CREDENTIAL": "10000",
            "SSL_CERT_FILE": str(certificate),
            "SSO_PRIVATE_ISSUERS": self.issuer,
            "DNS_SERVERS": self.names.address,
        }

    def person(self, **options):
        context = super().person(ignore_https_errors=True, **options)
        context.route(re.compile("^https://(?!localhost)"), lambda route: route.abort())
        return context

    @contextlib.contextmanager
    def at_work(self):
        """Ada, an admin, and the provider, which knows her company's redirect URI."""
        self.operator()
        self.query("UPDATE accounts_user SET is_staff = false, is_superuser = false")
        self.query("UPDATE accounts_account SET name = 'Nordwind', is_operators = false")
        ((company,),) = self.query("SELECT id FROM accounts_account")
        command = ["node", "provider.mjs", str(self.folder), str(self.provider_port)]
        command.append(f"{self.url}/auth/sso/{company}/callback")
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, cwd=FOLDER, **silent) as provider:
            wait_for_port(self.provider_port)
            yield self
            provider.terminate()
        for context in self.contexts:
            context.close()
        self.names.server_close()
        assert self.complaints == []


@pytest.fixture
def company(new_service, browser, tmp_path):
    company = Company(new_service(), browser, tmp_path)
    serve(company.service)
    with company.at_work():
        yield company


def log_in_there(page, email):
    """The provider's own pages: the log-in and the consent."""
    page.locator("[name=login]").fill(email)
    page.locator("[name=password]").fill("anything")
    page.locator("[type=submit]").click()
    page.get_by_role("button", name="Continue").click()


def offered(page, email):
    """The button of the log-in page for this address."""
    page.goto("/login")
    page.locator("[name=email]").fill(email)
    page.keyboard.press("Tab")
    button = page.get_by_role("button", name="Continue with Nordwind")
    button.wait_for()
    return button


def set_up(company, page):
    """The first three of the four steps, between which the page is left."""
    page.goto("/people#sign-in")
    page.locator("#domain").fill("example.com")
    press(page, "Add domain")
    says(page, "Domain added.")
    page.locator("[data-domains] code").nth(1).wait_for()
    name, value = page.locator("[data-domains] code").all_inner_texts()
    press(page, "Check now")
    says(page, "The TXT record wasn't found.")
    assert see(page, "company-sign-in") == []
    company.names.records[name] = [f'"{value}"']
    press(page, "Check now")
    says(page, "example.com is proved.")

    page.goto("/people#settings")
    page.get_by_text("Step 2 of 4").wait_for()
    page.get_by_role("link", name="Set up").click()
    page.locator("#issuer").fill(company.issuer)
    page.locator("#client-id").fill("consulting")
    page.locator("#client-secret").fill(SECRET)
    press(page, "Save provider")
    prove(page)
    says(page, "Provider saved.")
    press(page, "Test now")
    log_in_there(page, "ada@example.com")
    says(page, "The test succeeded.")


def switch(page, *names, on=True):
    page.locator(
        "[data-switches]:visible, .steps:not(.awaited) [data-edit-step]:visible"
    ).first.wait_for()
    if not page.locator("[data-switches]").is_visible():
        page.locator("li:has([data-switches]) [data-edit-step]").click()
    for name in names:
        page.locator(f"[data-switches] [name={name}]").set_checked(on)
    page.locator("[data-switches] [type=submit]").click()
    prove(page)


def let_bob_keep_his_password(company, page):
    """A second admin with a second factor."""
    company.add_person("Bob Boole", role="admin", has_second_factor=True)
    page.goto("/people")
    page.get_by_label("Actions for Bob Boole").click()
    press(page, "Let keep a password")
    says(page, "Bob Boole can always sign in with a password.")


def test_company_sets_its_provider_up_uses_it_and_requires_it(company):
    page = company.account()
    set_up(company, page)
    switch(page)
    says(page, "Saved.")
    page.locator("[data-provider-state]:text-is('On')").wait_for(state="attached")
    assert see(page) == []

    carl = company.tab("/login")
    offered(carl, "carl@example.com")
    assert carl.locator("[name=password]").is_visible()
    assert see(carl, "login-company") == []
    carl.get_by_role("button", name="Continue with Nordwind").click()
    log_in_there(carl, "carl@example.com")
    heading(carl, "Your account")
    assert company.query("SELECT role FROM accounts_user WHERE email LIKE 'carl@%%'") == [
        ("member",)
    ]
    press(carl, "Sign out")
    heading(carl, "Sign in")
    offered(carl, "carl@example.com").click()  # the provider knows him still
    heading(carl, "Your account")

    let_bob_keep_his_password(company, page)
    page.goto("/people#sign-in")
    switch(page, "required")
    heading(page, "Sign in")  # her session began by a password
    button = offered(page, "ada@example.com")
    until(page, "document.activeElement.matches('[data-provider]')")  # the password has gone
    assert not page.locator("[name=password]").is_visible()
    assert see(page, "login-required") == []
    press(page, "Admins: use your password")
    fill(page, email="ada@example.com", password=PASSWORD)
    says(page, "Incorrect e-mail or password.")
    button = offered(page, "ada@example.com")
    button.press("Enter")
    heading(page, "Your account")

    page.goto("/people#sign-in")
    page.locator("[name=required]:checked").wait_for(state="attached")
    switch(page, "active", on=False)
    heading(page, "Sign in")  # her session, which began at the provider, has ended with it
    assert company.query("SELECT active, required FROM accounts_connection") == [(False, False)]


WORDS = ["expired", "switched_off", "denied", "provider", "busy", "unverified", "domain", "account"]


def test_page_says_what_went_wrong(company):
    page = company.tab()
    said = set()
    for word in [*WORDS, "not_invited", "of_a_later_release"]:
        page.goto("/")
        page.goto(f"/sso#error={word}")
        heading(page, "You're not signed in")
        said.add(page.locator("[data-visitor] [data-reason]").text_content())
    assert len(said) == 9
    assert not any("sso" in text for text in said)
    assert see(page, "sso-refused") == []

    page.goto("/")
    page.goto("/sso#code=wrong")
    page.get_by_text("This sign-in took too long").wait_for()
    page.get_by_role("link", name="Back to sign-in").click()
    heading(page, "Sign in")


@pytest.fixture
def frontend(new_service, browser, tmp_path):
    """The company before a front-end on an origin of its own."""
    origin = f"http://127.0.0.1:{free_port()}"
    service = new_service(FRONTEND_URL=origin, CORS_ALLOWED_ORIGINS=origin)
    company = Company(service, browser, tmp_path)
    serve(service)
    with company.at_work(), built_at(origin, company, company.url):
        yield company


def connect(company):
    """What the pages' set-up leads to, by the API."""
    headers = company.service.bearer()
    company.query(
        "INSERT INTO accounts_domain (id, account_id, name, token, proved_at)"
        " SELECT %s, id, 'example.com', 'unused', now() FROM accounts_account",
        uuid.uuid4(),
    )
    provider = {"issuer": company.issuer, "client_id": "consulting", "client_secret": SECRET}
    body = provider | {"password": PASSWORD}
    assert ask(company.url, "PUT", "/account/connection", body, **headers).status == 200
    company.query("UPDATE accounts_connection SET tested_at = now(), active = true")


def test_front_end_of_another_origin_signs_in_there(frontend):
    connect(frontend)
    page = frontend.tab(frontend.frontend)
    page.locator("#login [name=email]").fill("carl@example.com")
    page.keyboard.press("Tab")

    page.get_by_role("button", name="Continue with Nordwind").click()
    log_in_there(page, "carl@example.com")

    page.locator("#person", has_text=", member").wait_for()
    page.goto(f"{frontend.frontend}/sso#error=denied")
    page.get_by_text("Not signed in: denied").wait_for()
