"""Addresses in domains with umlauts, as people read and type them."""

import pytest

from tests.browser.conftest import fill, invite, says, until
from tests.browser.helpers import see

pytestmark = pytest.mark.browser
DECEPTIVE = "eve@xn--80ak6aa92e.com"  # Cyrillic letters that look like "apple"


def test_domains_are_read_in_their_letters_unless_these_deceive(site_of_ada):
    site_of_ada.add_person("Karin Maurer", email="karin@xn--mller-kva.example")
    site_of_ada.add_person("Eve Sdropper", email=DECEPTIVE)
    site_of_ada.add_person("Li Wang", email="li@xn--wgv71a.jp")
    page = site_of_ada.account()
    page.get_by_role("link", name="Company", exact=True).click()

    for email in ("karin@müller.example", DECEPTIVE, "li@日本.jp"):
        page.locator("#people .email:visible", has_text=email).first.wait_for()
    assert see(page) == []
    invite(page, "bob@bücher.example")
    says(page, "Invitation sent to bob@bücher.example.")
    page.goto(site_of_ada.mailed_link(page="/accept-invitation"))
    page.locator("[name=username]").wait_for()
    until(page, "document.querySelector('[name=username]').value.includes('bücher')")


def test_account_page_shows_the_domain(site_of_ada):
    site_of_ada.query("UPDATE accounts_user SET email = 'ada@xn--mller-kva.example'")
    page = site_of_ada.account("ada@müller.example")

    page.locator("#profile .email:visible", has_text="ada@müller.example").first.wait_for()


def test_local_part_with_an_umlaut_is_refused_with_the_reason(site):
    page = site.tab("/signup", locale="de")
    fill(page, email="jürgen@müller.example")

    page.locator("#email-error", has_text="Vor dem @ sind nur Buchstaben von a bis z").wait_for()
