"""What people do with the pages, from the first mail to the locked door."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Site
from tests.conftest import PASSWORD

pytestmark = pytest.mark.browser


def heading(page: Any, text: str) -> None:
    """Wait for the page that is headed so."""
    page.get_by_role("heading", name=text, level=1).wait_for()


def fill(page: Any, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"[name={name}]").fill(value)
    page.locator("main form button").first.click()


def test_person_signs_up_and_stays_signed_in(site: Site) -> None:
    page = site.tab("/signup")
    fill(page, email="ada@example.com")
    page.get_by_text("Look into your mailbox").wait_for()
    page.goto(site.mailed_link())
    assert "#" not in page.url
    person = {"first_name": "Ada", "last_name": "Lovelace", "password": PASSWORD}

    fill(page, account_name="Analytical Engines", **person)

    heading(page, "Your account")
    page.reload()
    page.get_by_text("ada@example.com").wait_for()


def test_second_tab_takes_over_the_session(site_of_ada: Site) -> None:
    first = site_of_ada.log_in(site_of_ada.tab())
    heading(first, "Your account")
    second = first.context.new_page()
    refreshes: list[Any] = []
    second.on("request", lambda request: refreshes.append(request.url.endswith("/auth/refresh")))

    second.goto("/account")

    second.get_by_text("ada@example.com").wait_for()
    assert not any(refreshes)


def test_sign_out_in_one_tab_signs_out_the_other(site_of_ada: Site) -> None:
    first = site_of_ada.log_in(site_of_ada.tab())
    heading(first, "Your account")
    second = first.context.new_page()
    second.goto("/people")
    heading(second, "People")

    first.get_by_role("button", name="Sign out", exact=True).click()

    heading(first, "Log in")
    heading(second, "Log in")
    second.reload()
    heading(second, "Log in")
    assert first.context.cookies() == []


def test_log_in_leads_to_the_page_that_was_wanted(site_of_ada: Site) -> None:
    page = site_of_ada.tab("/people")
    heading(page, "Log in")

    fill(page, email="ada@example.com", password=PASSWORD)

    heading(page, "People")


def test_colleague_is_invited_and_accepts(site_of_ada: Site) -> None:
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")
    page.get_by_role("link", name="People").click()
    page.locator("[name=email]").fill("bob@example.com")
    page.get_by_role("button", name="Invite").click()
    page.get_by_text("The invitation is on its way.").wait_for()
    page.get_by_role("button", name="Revoke: bob@example.com").wait_for()
    other = site_of_ada.tab(site_of_ada.mailed_link())

    fill(other, first_name="Bob", last_name="Boole", password=PASSWORD)

    heading(other, "Your account")
    assert other.get_by_role("link", name="People").count() == 0
    page.reload()
    page.get_by_text("Bob Boole").wait_for()
    page.get_by_text("There is none.").wait_for()


def test_invitation_is_sent_again_and_revoked(site_of_ada: Site) -> None:
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")
    page.goto("/people")
    page.locator("[name=email]").fill("bob@example.com")
    page.get_by_role("button", name="Invite").click()
    page.get_by_role("button", name="Send again: bob@example.com").click()
    page.get_by_text("The invitation has been sent again.").wait_for()

    page.get_by_role("button", name="Revoke: bob@example.com").click()

    page.get_by_text("The invitation has been revoked.").wait_for()
    page.get_by_text("There is none.").wait_for()


def test_new_password_ends_the_other_session(site_of_ada: Site) -> None:
    other = site_of_ada.log_in(site_of_ada.tab())
    heading(other, "Your account")
    page = site_of_ada.tab("/forgot-password")
    fill(page, email="ada@example.com")
    page.get_by_text("Look into your mailbox").wait_for()
    page.goto(site_of_ada.mailed_link())

    fill(page, password="a new and better one")

    heading(page, "Your account")
    other.get_by_role("link", name="People").click()
    heading(other, "Log in")


def test_used_link_is_refused_in_words(site: Site) -> None:
    page = site.tab(f"/change-password#token={'A' * 64}")

    fill(page, password=PASSWORD)

    page.get_by_text("This link is no longer valid. Please ask for a new one.").wait_for()


def test_throttled_person_sees_the_wait_and_goes_on(new_site: Callable[..., Site]) -> None:
    site = new_site(RATE_LIMIT_CREDENTIAL="2", RATE_LIMIT_WINDOW_SECONDS="6")
    site.operator()
    page = site.tab("/login")
    for _ in range(3):
        fill(page, email="ada@example.com", password="wrong guess")
        page.locator("form .notice:visible").wait_for()

    page.get_by_text("Too many attempts. Please wait").wait_for()
    button = page.locator("main form button")
    assert button.is_disabled()
    assert "Wait " in button.inner_text()
    page.locator("main form button:enabled").wait_for()
    fill(page, email="ada@example.com", password=PASSWORD)
    heading(page, "Your account")


def test_locked_person_reads_the_same_words(new_site: Callable[..., Site]) -> None:
    site = new_site(LOCKOUT_THRESHOLD="1")
    site.operator()
    page = site.tab("/login")
    fill(page, email="ada@example.com", password="wrong guess")
    page.get_by_text("The e-mail address or the password is wrong.").wait_for()

    fill(page, email="ada@example.com", password=PASSWORD)

    page.get_by_text("Too many attempts. Please wait").wait_for()


def test_old_access_token_is_refreshed_before_the_call(new_site: Callable[..., Site]) -> None:
    site = new_site(ACCESS_TOKEN_SECONDS="20")  # always within the time that counts as old
    site.operator()
    page = site.log_in(site.tab())
    heading(page, "Your account")

    with page.expect_response("**/auth/refresh") as refreshed:
        page.get_by_role("link", name="People").click()

    assert refreshed.value.status == 200
    heading(page, "People")


def test_language_is_kept_with_the_person(site_of_ada: Site) -> None:
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")

    page.locator("#language").select_option("sv")
    page.locator("main form button").click()

    heading(page, "Ditt konto")
    other = site_of_ada.tab("/login", locale="de")
    heading(other, "Anmelden")
    fill(other, email="ada@example.com", password=PASSWORD)
    heading(other, "Ditt konto")


def test_language_is_chosen_at_the_foot_of_a_page(site: Site) -> None:
    page = site.tab("/login")

    page.get_by_role("button", name="Deutsch").click()

    heading(page, "Anmelden")


def test_fields_say_what_is_wrong(site_of_ada: Site) -> None:
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")
    page.locator("[name=first_name]").fill("   ")

    page.locator("main form button").click()

    page.get_by_text("This field may not be blank.").wait_for()
    assert page.locator("[name=first_name]").get_attribute("aria-invalid") == "true"
    assert page.evaluate("document.activeElement.name") == "first_name"
