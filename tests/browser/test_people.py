"""The page of a company's people: who sees it, what is asked before it is done."""

import pytest

from tests.browser.conftest import fill, heading, invited, says
from tests.conftest import query

pytestmark = pytest.mark.browser


def act(page, name, action, *, confirm=""):
    page.get_by_label(f"Actions for {name}").click()
    page.get_by_role("button", name=action, exact=True).click()
    if confirm:
        page.get_by_role("heading", name=confirm).wait_for()
        page.locator("dialog [value=yes]").click()


def row_of(page, name):
    return page.locator("tr", has_text=name)


def focused(page):
    return str(page.evaluate("document.activeElement.ariaLabel"))


def test_role_changes_after_a_question_and_the_focus_stays(people):
    act(people, "Bob Boole", "Make admin", confirm="Make Bob Boole an admin?")

    says(people, "Bob Boole is now an admin.")
    assert focused(people) == "Actions for Bob Boole"
    row_of(people, "Bob Boole").locator("td", has_text="Admin").first.wait_for()


def test_nothing_is_done_when_the_answer_is_no(people):
    act(people, "Bob Boole", "Make admin")
    people.get_by_role("button", name="Cancel").click()

    assert not people.locator("dialog").is_visible()
    assert focused(people) == "Actions for Bob Boole"
    people.reload()
    row_of(people, "Bob Boole").locator("td", has_text="Member").first.wait_for()


def test_admin_who_gives_up_the_role_leaves_the_page(people):
    act(people, "Bob Boole", "Make admin", confirm="Make Bob Boole an admin?")
    says(people, "Bob Boole is now an admin.")

    act(people, "Ada Lovelace", "Make member", confirm="Give up your own admin role?")

    heading(people, "Your account")
    says(people, "Your role was changed.")
    assert not people.get_by_role("link", name="People").is_visible()


def test_last_admin_stays_one(people):
    """Who is the last is offered no way out; who has become so just now is told."""
    act(people, "Bob Boole", "Make admin", confirm="Make Bob Boole an admin?")
    people.locator("dd[data-text=admins]", has_text="2").wait_for()
    url = people.site.service.environment["DATABASE_URL"]
    query(url, "UPDATE accounts_user SET role = 'member' WHERE first_name = 'Bob'")
    act(people, "Ada Lovelace", "Make member", confirm="Give up your own admin role?")

    says(people, "A company needs at least one admin.")
    heading(people, "People")


def test_member_is_told_that_the_page_is_for_admins(people):
    people.bob.goto("/people")

    heading(people.bob, "For admins")
    assert not people.bob.locator("table").first.is_visible()
    assert not people.bob.locator("[name=email]").is_visible()


def test_somebody_is_deactivated_and_reactivated(people):
    row = row_of(people, "Bob Boole")
    act(people, "Bob Boole", "Deactivate", confirm="Deactivate Bob Boole?")
    says(people, "Bob Boole was deactivated.")
    row.locator(".badge", has_text="Deactivated").wait_for()

    act(people, "Bob Boole", "Reactivate")

    says(people, "Bob Boole can sign in again.")
    row.locator(".badge", has_text="Active").wait_for()


def test_people_are_searched(people):
    people.get_by_label("Search people").fill("boole")

    people.get_by_text("Ada Lovelace").wait_for(state="detached")
    assert people.get_by_text("Bob Boole").is_visible()
    people.get_by_label("Search people").fill("nobody at all")
    people.get_by_text("No people match your search.").wait_for()


def test_invitation_is_sent_again_and_revoked(people):
    fill(people, email="cleo@example.com")
    act(people, "cleo@example.com", "Send again")
    says(people, "Invitation sent to cleo@example.com again.")

    act(
        people,
        "cleo@example.com",
        "Revoke",
        confirm="Revoke the invitation to cleo@example.com?",
    )

    says(people, "The invitation to cleo@example.com was revoked.")
    people.get_by_text("Nothing here yet.").first.wait_for()


def test_expired_invitation_is_listed(site_of_ada):
    page = invited(site_of_ada, "cleo@example.com")
    url = site_of_ada.service.environment["DATABASE_URL"]
    query(url, "UPDATE invitations_invitation SET expires_at = now() - interval '1 day'")

    page.reload()

    page.locator(".badge", has_text="Expired").wait_for()
    act(page, "cleo@example.com", "Send again")
    page.locator(".badge", has_text="Pending").wait_for()


def test_menu_closes_on_escape(people):
    people.get_by_label("Actions for Bob Boole").click()

    people.keyboard.press("Escape")

    assert people.locator("details.menu[open]").count() == 0
    assert focused(people) == "Actions for Bob Boole"


def test_colleague_is_signed_out_after_a_question(people):
    act(people, "Bob Boole", "Sign out everywhere", confirm="Sign out Bob Boole?")

    says(people, "Bob Boole was signed out.")
    people.bob.reload()
    heading(people.bob, "Sign in")


def test_colleague_is_mailed_a_password_link(people):
    act(people, "Bob Boole", "Send password reset")

    says(people, "Password reset sent to bob@example.com.")


def test_page_tells_what_has_happened(people):
    act(people, "Bob Boole", "Make admin", confirm="Make Bob Boole an admin?")

    newest = people.locator("#events tr").first
    newest.get_by_text("Role changed").wait_for()
    assert "bob@example.com" in newest.inner_text()
    row_of(people, "Bob Boole").first.get_by_text("Last signed in on").wait_for()
