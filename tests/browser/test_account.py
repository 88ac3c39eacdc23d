"""A person's own page: sessions that end everywhere, assistants that act for the person."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.assistants.conftest import VERIFIER
from tests.browser.conftest import act, confirm, fill, heading, open_row, press, says
from tests.browser.helpers import address, look, open_page, sign_in, told
from tests.cast import PASSWORD
from tests.requests import ask
from tests.servers import wait_until

pytestmark = pytest.mark.browser
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


def test_admin_is_not_told_to_ask_an_admin(page):
    data = page.locator("#data")
    assert "Our support team deletes your account" in data.inner_text()
    assert "Ask an admin" not in data.inner_text()


def let_in(site):
    """Ada lets an assistant in that calls itself Claudia."""
    start = address(site)
    page = open_page(site, start)
    sign_in(page)
    page.get_by_role("button", name="Allow").click()
    code = told(site, page)["code"]
    asked = dict(parse_qsl(urlsplit(start).query))
    form = {name: asked[name] for name in ("client_id", "redirect_uri", "resource")}
    form |= {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    kind = "application/x-www-form-urlencoded"
    body = urlencode(form).encode()
    assert ask(site.service.url, "POST", "/oauth/token", body, Content_Type=kind).status == 200


def test_assistant_is_listed_and_its_access_ended(site_of_ada):
    let_in(site_of_ada)
    page = site_of_ada.account()

    act(page, "Claudia", "Disconnect", asks="Disconnect Claudia?")

    says(page, "Claudia was disconnected.")
    page.get_by_text("No apps connected.").wait_for()


def test_sign_out_everywhere_is_asked_and_ends_the_other_browser(page):
    other = page.site.account()
    page.locator("#data .row", has_text="Ask an admin of your company").wait_for()

    press(page, "Sign out everywhere")
    confirm(page, "Sign out everywhere?")

    heading(page, "Sign in")
    says(page, "You're signed out.")
    other.reload()
    says(other, "Your session has ended. Sign in again.")


def test_edit_is_cancelled_by_button_and_by_escape(page):
    summary = page.locator("details.row > summary", has_text="Name")
    for cancel in (lambda: page.get_by_role("button", name="Cancel").click(), lambda: None):
        open_row(page, "Name")
        page.locator("[name=first_name]").fill("")
        page.locator("[name=last_name]").fill("Byron")
        page.locator("[name=first_name]").press("Enter")
        page.locator("#first_name-error", has_text="required").wait_for()
        assert look(page, "edit-row") == []
        cancel()
        page.keyboard.press("Escape")

        assert page.locator("details.row[open]").count() == 0
        assert summary.evaluate("it => it === document.activeElement")
        assert page.locator("[name=last_name]").input_value() == "Lovelace"
        assert page.locator("#first_name-error").inner_text() == ""


def test_what_was_typed_outlives_the_session(page):
    open_row(page, "Name")
    page.locator("[name=last_name]").fill("Byron")
    open_row(page, "E-mail address")
    page.locator("[name=email]").fill("byron@example.com")
    calls = re.compile("/auth/(refresh|me)$")
    page.route(calls, lambda route: route.fulfill(status=401, json={"error": "x"}))
    page.locator("#profile form").first.get_by_role("button", name="Save changes").click()
    says(page, "Your session has ended. Sign in again.")
    page.unroute(calls)

    fill(page, email="ada@example.com", password=PASSWORD)

    heading(page, "Your account")
    page.locator("[name=last_name]:visible").wait_for()
    assert page.locator("[name=last_name]").input_value() == "Byron"
    assert page.locator("[name=email]").input_value() == "byron@example.com"
    page.locator("#profile form").first.get_by_role("button", name="Save changes").click()
    says(page, "Saved.")


def test_recent_sign_ins_and_the_mails_about_them(site_of_ada):
    site_of_ada.account()
    site_of_ada.query("UPDATE accounts_user SET last_sign_in_at = now()")
    page = site_of_ada.account(user_agent=FIREFOX)
    rows = page.locator("#recent tbody tr")
    rows.filter(has_text="Firefox on Windows").wait_for()
    assert "Password · From the network 127.0.0.0/24" in rows.first.inner_text()
    assert look(page, "recent-sign-ins") == []

    press(page, "Turn off")

    says(page, "Saved.")
    page.locator("button:focus", has_text="Turn on").wait_for()
    page.reload()
    page.get_by_role("button", name="Turn on").wait_for()
    notice = wait_until(lambda: next(site_of_ada.messages(), None))
    assert notice["Subject"].startswith("New sign-in from Firefox on Windows, ")
