"""The people of these tests: what they type, and what they do with the service."""

import base64
import contextlib
import itertools
import re
import threading
from collections import Counter
from html import unescape

import httpx

from tests.signin.factors.helpers import code

OPERATOR = {"email": "you@your-domain.com", "password": "an operator's password"}
ADA = {"email": "ada@example.com", "password": "correct horse battery"}
APT = (r"Continue\?|continue\? \[Y/n\]", "y")
ACCOUNT = [
    ("E-mail address:", OPERATOR["email"]),
    ("Password:", OPERATOR["password"]),
    (r"Password \(again\):", OPERATOR["password"]),
]
HIDDEN = re.compile(r'type="hidden" name="(\w+)" value="([^"]*)"')


def sign_up(site, person):
    """A browser in which the person has signed up and logged in, with its bearer token."""
    browser = site.browser()
    assert browser.post("/auth/signup", json={"email": person["email"]}).status_code == 200
    new = {"token": site.mailbox.token(person["email"]), "account_name": "Analytical Engines"}
    new |= {"first_name": "Ada", "last_name": "Lovelace", "password": person["password"]}
    assert browser.post("/auth/complete-signup", json=new).status_code == 200
    assert log_in(browser, person).status_code == 200
    return browser


def log_in(browser, person, **factor):
    answer = browser.post("/auth/login", json=person | factor)
    if answer.status_code == 200 and "access_token" in answer.json():
        browser.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
    return answer


def enter_back_office(site):
    """The operator adds an authenticator app, without which the back office stays closed."""
    browser = site.browser()
    assert log_in(browser, OPERATOR).status_code == 200
    proof = {"password": OPERATOR["password"]}
    begun = browser.post("/auth/factors/totp", json=proof).json()
    secret = base64.b32decode(begun["secret"])
    first = {"id": begun["id"], "code": code(0, secret)}
    assert browser.post("/auth/factors/totp/confirm", json=first).status_code in {200, 201}

    office = site.browser()
    assert office.get("/admin/").status_code == 302
    assert log_in_to_office(office, code=code(1, secret)).status_code == 302
    assert office.get("/admin/").status_code == 200


def log_in_to_office(browser, **factor):
    """The page after the log-in's two forms."""
    page = browser.get("/admin/login/?next=/admin/")
    for form in ({"username": OPERATOR["email"], "password": OPERATOR["password"]}, factor):
        hidden = dict(HIDDEN.findall(unescape(page.text)))
        page = browser.post(page.url, data=hidden | form, headers={"Referer": str(page.url)})
    return page


def is_up(site):
    with contextlib.suppress(httpx.TransportError):
        return site.health().status_code == 200


class Load(threading.Thread):
    """Asks for the service's health some twenty times a second, and as a user now and then."""

    def __init__(self, browser):
        super().__init__()
        self.browser, self.answers, self.ending = browser, Counter(), threading.Event()

    def run(self):
        for turn in itertools.takewhile(lambda turn: not self.ending.wait(0.05), itertools.count()):
            try:
                answer = self.browser.get("/health" if turn % 10 else "/auth/me").status_code
            except httpx.TransportError as error:
                answer = repr(error)
            self.answers[answer] += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.ending.set()
        self.join()
