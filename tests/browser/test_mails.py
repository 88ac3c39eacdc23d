"""Mails as pictures: on a phone and on a desk, light and dark, in three languages."""

import pytest

from tests.browser.conftest import SCREENSHOTS
from tests.browser.helpers import LINKS, WIDE, violations
from tests.cast import PASSWORD
from tests.requests import ask
from tests.servers import wait_until

pytestmark = pytest.mark.browser

RULES = ["wcag2a", "wcag2aa", "wcag21aa"]  # a mail is no page, and has no landmarks
HIDDEN = "getComputedStyle(document.body.firstElementChild).display"


def html_of(site, number, seen):
    """The HTML of the mails that are not among those seen, once there are so many."""

    def found():
        new = [html for html in mails(site) if html not in seen]
        return len(new) >= number and new

    return wait_until(found, pause=0.1)


def mails(site):
    bodies = [message.get_body(("html",)) for message in site.messages()]
    return [body.get_content() for body in bodies if body]


def look(page, html, name):
    """What is wrong with a mail as it is seen."""
    page.set_content(html)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"mail-{name}.png", full_page=True)
    assert page.evaluate(HIDDEN) == "none"  # what inboxes alone show
    return violations(page, RULES) + (["wider than the screen"] if page.evaluate(WIDE) else [])


def caused(site, language):
    """By name: the HTML of mails in a language, each caused by a call."""
    url = site.service.url
    site.query("UPDATE accounts_user SET language = %s", language)
    ada = {"email": "ada@example.com", "password": PASSWORD}
    headers = {"Accept_Language": language} | site.service.bearer()
    grace = {"email": f"grace@{language}.example.com"}
    calls = {
        "sign-up": ("/auth/signup", grace),
        "password": ("/password-changes", {"email": "ada@example.com"}),
        "invitation": ("/invitations", grace | {"language": language}),
        "address": ("/auth/email-changes", ada | {"email": f"ada@{language}.example.com"}),
    }
    found = {}
    seen = set(mails(site))  # nothing is deleted: the worker may have a file open
    for name, (path, body) in calls.items():
        answer = ask(url, "POST", path, body, **headers)
        assert answer.status < 300, answer.body
        number = 2 if name == "address" else 1  # the link, and a notice to the present address
        found |= {f"{name}-{n}": html for n, html in enumerate(html_of(site, number, seen))}
        seen |= set(found.values())
    return found


def test_mails_are_seen_as_meant(new_site, browser):
    site = new_site(RATE_LIMIT_CREDENTIAL="1000", **LINKS)
    site.operator()
    bodies = {language: caused(site, language) for language in ("en", "de", "sv")}
    found = {}
    for scheme, width in (("light", 320), ("dark", 600)):
        page = browser.new_page(viewport={"width": width, "height": 600}, color_scheme=scheme)
        for language, named in bodies.items():
            for name, html in named.items():
                assert f'lang="{language}"' in html
                shot = f"{name}-{language}-{width}-{scheme}"
                found[shot] = look(page, html, shot)
        page.close()

    assert len(found) == 30
    assert not any(found.values()), found
