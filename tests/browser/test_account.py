"""A person's own page: sessions that end everywhere, assistants that act for the person."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.assistants.conftest import CHALLENGE, VERIFIER
from tests.browser.conftest import fill, heading, open_row, says
from tests.browser.test_pages import look
from tests.conftest import PASSWORD
from tests.requests import ask

pytestmark = pytest.mark.browser

CALLBACK = "http://localhost:3030/callback"


def let_in(site):
    """Ada lets an assistant in that calls itself Claudia."""
    url = site.service.url
    metadata = {"client_name": "Claudia", "redirect_uris": [CALLBACK]}
    client_id = ask(url, "POST", "/oauth/register", metadata).json()["client_id"]
    asked = {"client_id": client_id, "redirect_uri": CALLBACK, "resource": f"{url}/mcp"}
    proof = {"code_challenge": CHALLENGE.decode(), "code_challenge_method": "S256"}
    page = site.tab(f"/oauth/authorize?{urlencode(asked | proof | {'response_type': 'code'})}")
    page.route(f"{CALLBACK}**", lambda route: route.fulfill(body="Back at the assistant"))
    page.get_by_label("E-mail address").fill("ada@example.com")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Allow").click()
    page.get_by_text("Back at the assistant").wait_for()
    site.hosts.discard(urlsplit(CALLBACK).netloc)
    code = parse_qs(urlsplit(page.url).query)["code"][0]
    form = asked | {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    kind = "application/x-www-form-urlencoded"
    answer = ask(url, "POST", "/oauth/token", urlencode(form).encode(), Content_Type=kind)
    assert answer.status == 200


def test_assistant_is_listed_and_its_access_ended(site_of_ada):
    let_in(site_of_ada)
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")

    page.get_by_label("Actions for Claudia").click()
    page.get_by_role("button", name="Disconnect").click()
    page.get_by_role("heading", name="Disconnect Claudia?").wait_for()
    page.locator("dialog [value=yes]").click()

    says(page, "Claudia was disconnected.")
    page.get_by_text("No apps connected.").wait_for()


def test_sign_out_everywhere_is_asked_and_ends_the_other_browser(site_of_ada):
    other = site_of_ada.log_in(site_of_ada.tab())
    heading(other, "Your account")
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")
    page.locator("#data .row", has_text="Ask an admin of your company").wait_for()

    page.get_by_role("button", name="Sign out everywhere").click()
    page.get_by_role("heading", name="Sign out everywhere?").wait_for()
    page.locator("dialog [value=yes]").click()

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


def test_what_was_typed_outlives_the_session(page, site_of_ada):
    open_row(page, "Name")
    page.locator("[name=last_name]").fill("Byron")
    open_row(page, "E-mail address")
    page.locator("[name=own-password]").fill(PASSWORD)
    page.route("**/auth/refresh", lambda route: route.fulfill(status=401, json={"error": "x"}))
    page.route("**/auth/me", lambda route: route.fulfill(status=401, json={"error": "x"}))
    page.locator("#profile form").first.get_by_role("button", name="Save changes").click()
    says(page, "Your session has ended. Sign in again.")
    page.unroute("**/auth/refresh")
    page.unroute("**/auth/me")

    fill(page, email="ada@example.com", password=PASSWORD)

    heading(page, "Your account")
    page.locator("[name=last_name]:visible").wait_for()
    assert page.locator("[name=last_name]").input_value() == "Byron"
    assert page.locator("[name=own-password]").input_value() == ""
    page.locator("#profile form").first.get_by_role("button", name="Save changes").click()
    says(page, "Saved.")
