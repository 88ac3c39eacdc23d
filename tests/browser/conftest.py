"""A real browser before a real service, and watchers that no page may upset."""

import email
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import PASSWORD, Service, query

SCREENSHOTS = Path("screenshots")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium; none is ever downloaded."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program, "Debian's chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=FLAGS)


class Site:
    """A service with its pages and mails, and browsers of several people before it."""

    def __init__(self, service: Service, browser: Any) -> None:
        self.service, self.browser = service, browser
        self.mails = service.folder / "mails"
        self.hosts: set[str] = set()
        self.complaints: list[str] = []

    def person(self, **options: Any) -> Any:
        """A browser context of somebody's own: cookies, storage and tabs."""
        context = self.browser.new_context(
            base_url=self.service.url, **{"viewport": DESKTOP, "locale": "en"} | options
        )
        context.set_default_timeout(8000)
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        context.on("console", self.listen)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        return context

    def listen(self, message: Any) -> None:
        if "Content Security Policy" in message.text:
            self.complaints.append(message.text)

    def tab(self, path: str = "/", **options: Any) -> Any:
        page = self.person(**options).new_page()
        page.goto(path)
        return page

    def log_in(self, page: Any, password: str = PASSWORD) -> Any:
        page.goto("/login")
        page.get_by_label("E-mail address").fill("ada@example.com")
        page.get_by_label("Password").fill(password)
        page.locator("form button").click()
        return page

    def operator(self) -> None:
        """An admin, ada@example.com, without the way through sign-up."""
        self.service.environment |= {
            "DJANGO_SUPERUSER_EMAIL": "ada@example.com",
            "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
        }
        self.service.manage("createsuperuser", "--noinput")
        # A person has a name; the command asks for none.
        query(
            self.service.environment["DATABASE_URL"],
            "UPDATE accounts_user SET first_name = 'Ada', last_name = 'Lovelace'",
        )

    def mailed_link(self) -> str:
        """The link in the first mail, when it has come."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            for file in self.mails.glob("*"):
                mail = email.message_from_bytes(file.read_bytes())
                text = mail.get_payload(0).get_payload(decode=True) if mail.is_multipart() else b""
                if found := re.search(r"http://\S+#token=\S+", text.decode()):
                    return found[0]
            time.sleep(0.1)
        raise TimeoutError("no mail has come")


@pytest.fixture
def new_site(new_service: Callable[..., Service], browser: Any) -> Iterator[Callable[..., Site]]:
    """Makes sites; afterwards no request has left the host and no policy was violated."""
    made: list[Site] = []

    def make(**environment: str) -> Site:
        environment = {"RATE_LIMIT_CREDENTIAL": "1000"} | environment
        service = new_service(**environment)
        service.environment["EMAIL_URL"] = f"filemail:///{service.folder}/mails"
        (service.folder / "mails").mkdir()
        service.start()
        service.spawn("manage.py", "sendmail")
        made.append(Site(service, browser))
        return made[-1]

    yield make
    for site in made:
        assert site.hosts <= {urlsplit(site.service.url).netloc}
        assert site.complaints == []


@pytest.fixture
def site(new_site: Callable[..., Site]) -> Site:
    return new_site()


@pytest.fixture
def site_of_ada(site: Site) -> Site:
    site.operator()
    return site
