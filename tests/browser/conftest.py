"""A real browser before a real service, and watchers that no page may upset."""

import email
import json
import re
import shutil
import time
import uuid
from email import policy
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib.auth.hashers import make_password

from tests import servers
from tests.cast import PASSWORD
from tests.requests import ask
from tests.services import Service
from tests.sso.provider import CLIENT, SECRET, Provider

SCREENSHOTS = Path("screenshots")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 320, "height": 640}


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium; none is ever downloaded."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program, "Debian's chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=FLAGS)


def fill(page, **fields):
    """Fill fields of the page's form by their names, and send it."""
    for name, value in fields.items():
        page.locator(f"main [name={name}]").fill(value)
    page.locator("main form button:not([type]):visible").click()


def heading(page, text):
    """Wait for the page that is headed so."""
    page.get_by_role("heading", name=text, level=1).wait_for()


def made(page, text):
    """Wait until a member's page that is headed so is made: its scripts listen, and its lists are
    there. The heading alone comes before that."""
    page.locator("main[aria-busy=false] h1:visible", has_text=text).wait_for()


def says(page, text):
    """Wait until the status region says this."""
    page.locator("#status", has_text=text).wait_for()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def confirm(page, question):
    """Say yes to the question that the page asks first."""
    page.get_by_role("heading", name=question).wait_for()
    page.locator("dialog [value=yes]").click()


def act(page, name, action, *, asks=""):
    """Take an action of a row's menu, and confirm it where the page asks."""
    page.get_by_label(f"Actions for {name}").click()
    press(page, action)
    if asks:
        confirm(page, asks)


def download(page, name):
    """What the button saves."""
    with page.expect_download() as started:
        press(page, name)
    return started.value.path().read_bytes()


def hold(page, address):
    """The calls to the address, which the page makes and nobody answers until a test does."""
    calls = []

    def keep(route):
        calls.append(route)

    page.route(address, keep)
    return calls


def first_of(page, calls):
    """The first of the calls that are held, as soon as the page makes it."""
    deadline = time.monotonic() + 30
    while not calls:
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)
    return calls[0]


# Whether a page knows who is there. One that is to find out asks the other tabs first, and for a
# tenth of a second there is no request.
ACQUAINTED = """() => !document.body?.matches("[data-session^=in]") ||
    document.querySelector("header .me")?.textContent.trim() !== ''"""


def settled(page):
    """Wait until a page has asked for all that it asks for: a tenth of a second without a request
    (the "networkidle" of playwright takes half a second of each page)."""
    page.wait_for_load_state()
    quiet, deadline = 0, time.monotonic() + 30
    while quiet < (2 if page.evaluate(ACQUAINTED) else 6):
        page.wait_for_timeout(50)
        under_way = [one for one in page.context.under_way if one.frame.page == page]
        assert time.monotonic() < deadline, under_way
        quiet = 0 if under_way else quiet + 1


def until(page, expression):
    """Wait for it to hold; Playwright's own way evaluates strings, which the policy forbids."""
    deadline = time.monotonic() + 30
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(50)


class Site:
    """A service with its pages and mails, and browsers of several people before it."""

    rows_of_ada = {}  # by table: she and her company, as the database keeps them

    def __init__(self, service, browser):
        self.service, self.browser = service, browser
        self.url = f"http://localhost:{service.port}"  # what `make run` prints, and mails link to
        self.mails = service.folder / "mails"
        self.hosts, self.under_way = set(), set()
        self.complaints = []
        self.contexts = []

    def person(self, **options):
        """A browser context of somebody's own: cookies, storage and tabs."""
        context = self.browser.new_context(
            base_url=self.url, **{"viewport": DESKTOP, "locale": "en"} | options
        )
        context.set_default_timeout(30_000)  # a busy machine is no fault of a page
        self.contexts.append(context)
        context.under_way = self.under_way
        context.on("request", self.begin)
        context.on("requestfinished", self.end)
        context.on("requestfailed", self.end)
        context.on("console", self.listen)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        return context

    def leave(self):
        """Close the browsers; no request has left the host and no policy was violated."""
        for context in self.contexts:
            context.close()
        assert self.hosts <= {urlsplit(self.url).netloc}
        assert self.complaints == []

    def begin(self, request):
        self.hosts.add(urlsplit(request.url).netloc)
        self.under_way.add(request)

    def end(self, request):
        self.under_way.discard(request)

    def listen(self, message):
        if "Content Security Policy" in message.text:
            self.complaints.append(message.text)

    def tab(self, path="/", **options):
        page = self.person(**options).new_page()
        page.goto(path)
        return page

    def account_in(self, language):
        """Ada's own page in a language, without motion."""
        self.query("UPDATE accounts_user SET language = %s", language)
        page = self.tab("/login", locale=language, reduced_motion="reduce")
        fill(page, email="ada@example.com", password=PASSWORD)
        page.locator("[data-protection]:not(:empty)").wait_for()
        return page

    def account(self, email="ada@example.com", **options):
        """Somebody's own page, after a log-in in a browser of their own."""
        page = self.tab("/login", **options)
        fill(page, email=email, password=PASSWORD)
        made(page, "Your account")
        return page

    def password_page(self, **options):
        """Where Ada chooses a new password, by the link in the mail."""
        page = self.tab("/forgot-password", **options)
        fill(page, email="ada@example.com")
        page.goto(self.mailed_link(page="/change-password"))
        return page

    def guess(self, email="ada@example.com"):
        """Guess at a password until the address is locked."""
        wrong = {"email": email, "password": "a wrong guess"}
        answers = [ask(self.service.url, "POST", "/auth/login", wrong) for _ in range(5)]
        assert {answer.status for answer in answers} == {401}

    def query(self, statement, *values):
        return self.service.query(statement, *values)

    def operator(self):
        """An admin, ada@example.com, without the way through sign-up: as the command makes her,
        which takes two seconds and is called once."""
        for table, rows in self.rows_of_ada.items():
            for row in rows:
                insert = f"INSERT INTO {table} SELECT (json_populate_record(NULL::{table}, %s)).*"
                self.query(insert, row)
        if self.rows_of_ada:
            return
        self.service.add_operator()
        # A person has a name; the command asks for none.
        self.query("UPDATE accounts_user SET first_name = 'Ada', last_name = 'Lovelace'")
        for table in ("accounts_account", "accounts_user"):
            found = self.query(f"SELECT to_json(t)::text FROM {table} t")
            self.rows_of_ada[table] = [row for (row,) in found]

    def add_person(self, name, **columns):
        """A member of Ada's company, with her password."""
        first, last = name.split()
        person = {"first_name": first, "last_name": last, "email": f"{first}@example.com".lower()}
        person |= {"id": str(uuid.uuid4()), "role": "member", "last_sign_in_at": None}
        person |= {"is_staff": False, "is_superuser": False}
        self.query(
            "INSERT INTO accounts_user SELECT (json_populate_record(u, %s)).*"
            " FROM accounts_user u WHERE email = 'ada@example.com'",
            json.dumps(person | columns),
        )

    def messages(self):
        """The mails that have come, the newest first. A file holds several, of which the last may
        be being written."""
        for file in sorted(self.mails.glob("*"), key=lambda file: -file.stat().st_mtime_ns):
            *whole, _ = file.read_bytes().split(b"-" * 79 + b"\n")
            for text in reversed(whole):
                yield email.message_from_bytes(text, policy=policy.default)

    def mailed_link(self, to="", page=""):
        """The link in the newest mail that has one, when it has come; of those to an address, or to
        a page."""

        def links():
            for message in self.messages():
                body = message.get_body(("plain",))
                found = body and re.search(rf"http://\S+{page}#token=\S+", body.get_content())
                if found and to in message["To"]:
                    yield found[0]

        return servers.wait_until(lambda: next(links(), None), pause=0.1)


@pytest.fixture
def new_site(new_service, browser):
    """Makes sites with settings of their own."""
    made = []

    def make(**environment):
        made.append(Site(serve(new_service(**environment)), browser))
        return made[-1]

    yield make
    for site in made:
        site.leave()


def serve(service):
    """Start a service that writes its mails into its folder."""
    (service.folder / "mails").mkdir()
    service.start()
    service.spawn("manage.py", "runworker")
    return service


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory, migrated_template):
    """One service for all tests that need no settings of their own: a start takes a while."""
    servers.POSTGRES.execute(f"CREATE DATABASE browser TEMPLATE {migrated_template}")
    limits = {f"RATE_LIMIT_{tier}": "10000" for tier in ("AUTHENTICATED", "PUBLIC", "CREDENTIAL")}
    limits["DEVICE_LOCKOUT"] = "true"
    folder = tmp_path_factory.mktemp("browser")
    service = serve(Service(folder, DATABASE_URL=servers.POSTGRES.url("browser"), **limits))
    service.query("ALTER TABLE audit_record DISABLE TRIGGER audit_record_truncate")
    yield service
    service.stop()


def empty(service):
    """Forget everybody and every mail."""
    apps = ["accounts", "assistants", "audit", "emailchanges", "invitations", "mail", "passwords"]
    tables = "SELECT tablename FROM pg_tables WHERE split_part(tablename, '_', 1) = ANY(%s)"
    named = service.query(tables, [*apps, "privacy", "signin", "throttling"])
    truncate = f"TRUNCATE {', '.join(name for (name,) in named)} CASCADE"
    try:
        service.query(truncate)
    except psycopg.errors.DeadlockDetected:  # with what the last test has left under way
        service.query(truncate)
    for file in (service.folder / "mails").iterdir():
        file.unlink()


@pytest.fixture
def site(shared_service, browser):
    empty(shared_service)
    site = Site(shared_service, browser)
    yield site
    site.leave()


@pytest.fixture
def site_of_ada(site):
    site.operator()
    return site


def invited(site, email):
    """The people page, where Ada has just invited somebody."""
    page = site.account()
    page.get_by_role("link", name="Company", exact=True).click()
    invite(page, email)
    says(page, f"Invitation sent to {email}.")
    return page


def invite(page, *emails):
    """Send invitations from the people page: in a dialog, or on the page of a new company."""
    page.locator("#team:visible, [data-invite]:visible").first.wait_for()
    if not page.locator("#team").is_visible():
        page.locator("[data-invite]").click()
    page.locator("#team").fill("\n".join(emails))
    page.locator("[data-team] [type=submit]").click()


def open_row(page, name):
    """Open the form of a row of the account page."""
    page.locator("details.row > summary", has_text=name).click()


def open_company(page):
    """Go to the page of the company, in any language, by the link in the header."""
    page.locator("[data-when=admin]:visible").click()
    page.locator("main[aria-busy=false] .tabs").wait_for()


def open_tab(page, name):
    page.locator(f".tabs [href='#{name}']").click()
    page.locator(f"[data-tab={name}]:visible").wait_for()


@pytest.fixture
def page(site_of_ada):
    """Ada's account."""
    page = site_of_ada.account()
    page.get_by_text("Not set up yet.").wait_for()
    page.site = site_of_ada
    return page


@pytest.fixture
def bob(site_of_ada):
    """A member of Ada's company, with her password."""
    site_of_ada.add_person("Bob Boole")


@pytest.fixture
def people(site_of_ada, bob):
    """Ada before the page of her company's people, of whom Bob is one."""
    page = site_of_ada.account()
    open_company(page)
    page.locator("#people").get_by_text("Bob Boole").wait_for()
    page.site = site_of_ada
    return page


class Company(Site):
    """Ada's, which requires its provider, where she has an account and no password here."""

    provider: Provider

    def set_up(self):
        self.operator()
        self.query("UPDATE accounts_user SET is_staff = false, is_superuser = false")
        self.query("UPDATE accounts_account SET name = 'Nordwind', is_operators = false")
        body = {"email": "ada@example.com", "password": PASSWORD}
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

    def give_ada_a_password(self, **connection):
        """Let Ada sign in by a password, after changes of the connection's columns."""
        columns = ", ".join(f"{name} = %s" for name in connection)
        self.query(f"UPDATE accounts_connection SET {columns}", *connection.values())
        self.query("UPDATE accounts_user SET password = %s", make_password(PASSWORD))

    def account_by_provider(self):
        """Ada's own page, after a sign-in at her provider."""
        page = self.tab("/login")
        page.locator("[name=email]").fill("ada@example.com")
        page.keyboard.press("Tab")
        press(page, "Continue with Nordwind")
        made(page, "Your account")
        return page


@pytest.fixture
def company(new_service, browser, tmp_path):
    with Provider(tmp_path) as provider:
        provider.be_honest()
        provider.browsing = {"sub": "ada", "email": "ada@example.com"}
        company = Company(new_service(), browser)
        company.provider = provider
        company.service.environment |= {
            "SERVICE_URL": company.url,
            "RATE_LIMIT_CREDENTIAL": "10000",
            "DEVICE_LOCKOUT": "true",
            "SSL_CERT_FILE": str(provider.authority),
            "SSO_PRIVATE_ISSUERS": provider.issuer,
        }
        serve(company.service)
        company.set_up()
        yield company
        for context in company.contexts:
            context.close()
        assert company.complaints == []
