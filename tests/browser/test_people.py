"""The page of a company's people: who sees it, what is asked before it is done."""

import re
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import (
    PHONE,
    act,
    confirm,
    download,
    fill,
    heading,
    invite,
    invited,
    open_tab,
    press,
    says,
    settled,
)
from tests.browser.helpers import BROKEN, look, row_of
from tests.browser.rows import LONG
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser


def focused(page):
    return str(page.evaluate("document.activeElement.ariaLabel"))


def make_bob_admin(page):
    act(page, "Bob Boole", "Make admin", asks="Make Bob Boole an admin?")
    says(page, "Bob Boole is now an admin.")


def add_carl(page):
    page.site.add_person("Carl Boole")
    page.reload()
    row_of(page, "Carl Boole").wait_for()


def add_many(page, count):
    """More members, Bob Z10 and so on."""
    page.site.query(
        "INSERT INTO accounts_user SELECT (json_populate_record(u, json_build_object('id',"
        " gen_random_uuid(), 'email', n || '@example.com', 'last_name', 'Z' || n))).*"
        " FROM accounts_user u, generate_series(10, %s) n WHERE first_name = 'Bob'",
        count + 9,
    )
    page.reload()


def test_role_changes_after_a_question_and_a_sentence_tells_of_it(people):
    make_bob_admin(people)

    assert focused(people) == "Actions for Bob Boole"
    row_of(people, "Bob Boole").locator("td", has_text="Admin").first.wait_for()
    open_tab(people, "activity")
    newest = people.locator("#events tr").first
    newest.get_by_text("Ada Lovelace made Bob Boole an admin.").wait_for()
    assert "20" in newest.locator("time").get_attribute("title")


@pytest.mark.parametrize("width", [320, 1280])
def test_figures_and_the_button_shift_nothing_when_they_come(people, width):
    def place():
        settled(people)
        row_of(people, "Bob Boole").wait_for()
        return [people.locator(f"{one}:visible").bounding_box() for one in ("h1", "table")]

    people.set_viewport_size({"width": width, "height": 800})
    people.route("**/pages/overview", lambda route: route.abort())
    people.reload()
    without = place()
    assert not people.locator("[data-invite]").is_visible()

    people.unroute("**/pages/overview")
    people.reload()
    people.locator("[data-overview]:visible").wait_for()
    people.locator("[data-invite]:visible").wait_for()

    assert place() == without


def test_message_shifts_nothing_and_leaves_by_itself(people):
    title = people.get_by_role("heading", name="Company", level=1)
    settled(people)
    place = title.bounding_box()

    make_bob_admin(people)
    assert title.bounding_box() == place
    assert people.locator("#status").bounding_box()["y"] < place["y"]

    leaving = "document.getAnimations().filter((one) => one.animationName === 'leave')"
    people.evaluate(f"{leaving}.forEach((one) => one.finish())")
    assert people.locator("#status").evaluate("it => getComputedStyle(it).opacity") == "0"


def test_nothing_is_done_without_confirmation(people):
    people.get_by_label("Actions for Bob Boole").click()
    people.keyboard.press("Escape")
    assert people.locator("details.menu[open]").count() == 0
    assert focused(people) == "Actions for Bob Boole"

    act(people, "Bob Boole", "Make admin")
    people.get_by_role("button", name="Cancel").click()

    assert not people.locator("#confirm").is_visible()
    assert focused(people) == "Actions for Bob Boole"
    people.reload()
    row_of(people, "Bob Boole").locator("td", has_text="Member").first.wait_for()


def test_admin_who_gives_up_the_role_leaves_the_page(people):
    make_bob_admin(people)

    act(people, "Ada Lovelace", "Make member", asks="Give up your own admin role?")

    heading(people, "Your account")
    says(people, "Your role was changed.")
    assert not people.get_by_role("link", name="Company", exact=True).is_visible()


def test_last_admin_cannot_be_demoted(people):
    """Who is the last is offered no way out; who has become so just now is told."""
    make_bob_admin(people)
    people.locator("[data-text=admins]", has_text="2").wait_for()
    people.site.query("UPDATE accounts_user SET role = 'member' WHERE first_name = 'Bob'")
    act(people, "Ada Lovelace", "Make member", asks="Give up your own admin role?")

    says(people, "A company needs at least one admin.")
    heading(people, "Company")


def test_member_is_told_that_the_page_is_for_admins(people):
    page = people.site.tab("/people#api-keys")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    fill(page, email="bob@example.com", password=PASSWORD)

    heading(page, "You don't have access")
    settled(page)
    assert not [url for url in requests if re.search("/(account/|users)", url)]
    assert not page.locator("table").first.is_visible()
    assert not page.locator("[data-invite]").is_visible()


def test_somebody_is_deactivated_and_reactivated(people):
    bob = people.site.account("bob@example.com")
    row = row_of(people, "Bob Boole")
    act(people, "Bob Boole", "Deactivate", asks="Deactivate Bob Boole?")
    says(people, "Bob Boole was deactivated.")
    row.locator(".badge", has_text="Deactivated").wait_for()
    bob.get_by_role("button", name="Download").click()
    heading(bob, "Sign in")
    says(bob, "Your session has ended. Sign in again.")

    act(people, "Bob Boole", "Reactivate")

    says(people, "Bob Boole can sign in again.")
    row.locator(".badge", has_text="Active").wait_for()


def test_last_filter_counts_while_another_is_awaited(people):
    held = {}
    people.route("**/users?*role=admin*", lambda route: held.update(first=route))
    role = people.locator("[data-filter=role][data-of=people]")
    role.select_option("admin")
    role.select_option("member")
    row_of(people, "Ada Lovelace").wait_for(state="detached")
    held["first"].continue_()

    settled(people)
    assert row_of(people, "Bob Boole").is_visible()


def test_people_are_searched(people):
    people.get_by_label("Search by name or e-mail").fill("boole")

    row_of(people, "Ada Lovelace").wait_for(state="detached")
    assert row_of(people, "Bob Boole").is_visible()
    people.get_by_label("Search by name or e-mail").fill("nobody at all")
    people.get_by_text("No people match your search.").wait_for()


def test_people_are_saved_by_name_and_read_in_an_order_that_stays(people):
    people.site.add_person("Zoe Abel")

    def repeat_the_first(route):
        """As if a page had moved by a person who was added meanwhile."""
        body = route.fetch().json()
        route.fulfill(json=body | {"items": [*body["items"], body["items"][0]]})

    people.route("**/users?*sort=id*", repeat_the_first)
    with people.expect_request("**/users?*sort=id*"):
        rows = download(people, "Download as CSV").decode().splitlines()[1:]

    assert [row.split(",")[2] for row in rows] == ['"Abel"', '"Boole"', '"Lovelace"']


def test_invitation_is_sent_again_revoked_and_sent_anew(people):
    invite(people, "cleo@example.com")
    says(people, "Invitation sent to cleo@example.com.")
    open_tab(people, "invitations")
    act(people, "cleo@example.com", "Send again")
    says(people, "Invitation sent to cleo@example.com again.")

    act(people, "cleo@example.com", "Revoke", asks="Revoke the invitation to cleo@example.com?")

    says(people, "The invitation to cleo@example.com was revoked.")
    people.get_by_text("No invitations.").wait_for()
    status = people.locator("[data-tab=invitations] [data-filter=status]")
    status.select_option("revoked")
    act(people, "cleo@example.com", "Invite again")
    says(people, "Invitation sent to cleo@example.com.")
    status.select_option("pending")
    row_of(people, "cleo@example.com").wait_for()


def test_expired_invitation_is_listed(site_of_ada):
    page = invited(site_of_ada, "cleo@example.com")
    site_of_ada.query("UPDATE invitations_invitation SET expires_at = now() - interval '1 day'")

    page.goto("/people#invitations")

    status = page.locator("[data-tab=invitations] [data-filter=status]")
    status.select_option("expired")
    page.locator(".badge", has_text="Expired").wait_for()
    act(page, "cleo@example.com", "Send again")
    status.select_option("pending")
    page.locator(".badge", has_text="Pending").wait_for()


def test_colleague_is_signed_out_after_a_question(people):
    bob = people.site.account("bob@example.com")
    act(people, "Bob Boole", "Sign out everywhere", asks="Sign out Bob Boole?")

    says(people, "Bob Boole was signed out.")
    bob.reload()
    heading(bob, "Sign in")


def test_colleague_is_mailed_a_password_link(people):
    act(people, "Bob Boole", "Send password reset")

    says(people, "Password reset sent to bob@example.com.")


def test_activity_is_filtered_by_person_and_group(people):
    people.site.service.bearer("bob@example.com")  # logs in, without a page
    open_tab(people, "activity")
    signed_in = people.locator("#events tr", has_text="Ada Lovelace signed in.")
    signed_in.wait_for()
    people.get_by_label("Person", exact=True).fill("boole")
    people.keyboard.press("Enter")
    signed_in.wait_for(state="detached")
    people.locator("#events").get_by_text("Bob Boole signed in.").wait_for()

    people.get_by_label("What").select_option("company")
    people.locator("[data-tab=activity] .empty:visible").wait_for()


def test_activity_of_a_day_is_saved_with_a_new_device_in_its_sign_in(people):
    open_tab(people, "activity")
    events = people.locator("#events")
    events.locator("tr:visible", has_text="Ada Lovelace signed in. New device.").first.wait_for()
    assert events.get_by_text("Ada Lovelace signed in on a new device.").count() == 0
    people.clock.set_fixed_time("2020-01-01")
    content = download(people, "Download as CSV")
    assert content.startswith(b"\xef\xbb\xbfat,kind,actor,actor_name,subject")
    assert '"login.succeeded","ada@example.com","Ada Lovelace"' in content.decode()

    people.get_by_label("From", exact=True).fill("2020-01-01")
    people.get_by_label("To", exact=True).fill("2020-01-02")

    people.locator("[data-tab=activity] .empty:visible").wait_for()
    assert "events.since=2020-01-01" in people.url
    people.get_by_label("To", exact=True).fill("2999-01-02")
    events.locator("tr:visible").first.wait_for()


def test_activity_wants_a_choice_among_several(people):
    """Of two Booles neither is taken silently, and a name that nobody has leaves no rows."""
    people.site.add_person("Carl Boole")
    people.site.service.bearer("bob@example.com")  # logs in, without a page
    open_tab(people, "activity")
    people.locator("#events time").first.wait_for()
    field = people.get_by_label("Person", exact=True)

    field.fill("boole")
    people.keyboard.press("Enter")
    says(people, "2 people match. Choose one.")
    assert people.locator("#events tr").count() == 0
    assert look(people, "candidates") == []
    people.get_by_label("What").select_option("sign_in")  # is for nobody as yet
    settled(people)
    assert people.locator("#events tr").count() == 0
    people.get_by_role("button", name="Bob Boole · bob@example.com").click()

    people.locator("#events").get_by_text("Bob Boole signed in.").wait_for()
    assert people.locator("#events").get_by_text("Ada Lovelace").count() == 0
    assert field.input_value() == "Bob Boole · bob@example.com"
    assert not people.locator("[data-candidates]").is_visible()
    field.fill("nobody at all")
    people.keyboard.press("Enter")
    says(people, "No people match your search.")
    assert people.locator("#events tr").count() == 0


WORDS = {"Member", "Admin", "Active", "Deactivated", "Never", "signed", "in", "Role", "Status"}


@pytest.mark.parametrize("width", [320, 705, 740, 768, 1280])
def test_words_in_the_list_are_not_broken(people, width):
    change = "UPDATE accounts_user SET is_active = false, email = %s WHERE first_name = 'Bob'"
    people.site.query(change, LONG)
    people.set_viewport_size({"width": width, "height": 800})
    people.reload()
    row_of(people, "Bob Boole").wait_for()

    assert look(people, f"people-{width}") == []
    assert WORDS & set(people.evaluate(BROKEN)) == set()


def test_several_are_changed_at_once_and_failures_are_named(people):
    add_carl(people)
    bob = row_of(people, "Bob Boole").get_attribute("data-id")
    refused = {"status": 404, "json": {"error": "not found"}}
    people.route(f"**/users/{bob}", lambda route: route.fulfill(**refused))

    people.get_by_label("Select all").first.check()
    people.get_by_text("3 selected").wait_for()
    people.locator("[data-bulk-act=deactivate]").first.click()
    confirm(people, "Deactivate 2 people?")

    says(people, "1 done. Not done: Bob Boole (This no longer exists. Start again).")
    row_of(people, "Carl Boole").locator(".badge", has_text="Deactivated").wait_for()
    people.get_by_text("1 selected").wait_for()  # to try again
    assert row_of(people, "Bob Boole").locator("[data-pick]").is_checked()


def test_consequence_and_result_of_many_are_named_and_undone(people):
    add_carl(people)

    people.get_by_label("Select all").first.check()
    people.locator("[data-bulk-act='make admin']").click()
    people.get_by_role("heading", name="Make 2 people admins?").wait_for()
    people.locator("dialog", has_text="Bob Boole, Carl Boole. Admins invite people").wait_for()
    people.locator("dialog [value=yes]").click()
    says(people, "2 people are now admins.")
    row_of(people, "Carl Boole").get_by_role("cell", name="Admin", exact=True).wait_for()

    people.get_by_role("button", name="Undo").click()
    says(people, "Undone.")
    row_of(people, "Bob Boole").get_by_role("cell", name="Member", exact=True).wait_for()


def test_address_remembers_what_the_list_shows(people):
    add_many(people, 121)  # what is chosen before the script is there stays
    people.get_by_label("Role").first.select_option("member")
    people.get_by_label("Search by name or e-mail").fill("z")
    people.locator("[data-range]", has_text="of 121").wait_for()
    people.get_by_label("Per page").first.select_option("100")
    people.locator("[data-range]", has_text="1 to 100 of 121").wait_for()
    people.get_by_role("button", name="Next").click()
    people.locator("[data-range]", has_text="101 to 121 of 121").wait_for()
    assert people.locator("#people tr").count() == 21
    assert row_of(people, "Bob Z99").bounding_box()["height"] <= 46
    address = people.url

    people.reload()
    people.locator("[data-range]", has_text="101 to 121 of 121").wait_for()
    assert people.get_by_label("Search by name or e-mail").input_value() == "z"
    people.get_by_role("link", name="Account").click()
    heading(people, "Your account")
    people.go_back()

    people.locator("[data-range]", has_text="101 to 121 of 121").wait_for()
    assert people.url == address
    assert people.get_by_label("Role").first.input_value() == "member"


def test_first_person_is_seen_on_a_phone_without_scrolling(people):
    people.set_viewport_size(PHONE)
    people.reload()
    row = row_of(people, "Bob Boole")
    row.wait_for()
    assert row.bounding_box()["y"] + row.bounding_box()["height"] <= PHONE["height"]

    role = people.get_by_label("Role").first
    assert not role.is_visible()
    people.get_by_role("button", name="Filter").first.click()
    assert role.is_visible()


def test_figure_that_filters_is_marked_until_the_filters_are_cleared(people):
    chip = people.locator(".figures a", has_text="Admins")
    chip.click()
    row_of(people, "Bob Boole").wait_for(state="detached")
    assert people.locator(".figures [aria-current]").all_inner_texts() == ["1 Admins"]
    assert look(people, "people-filtered") == []

    people.get_by_label("Role").first.select_option("member")
    row_of(people, "Bob Boole").wait_for()
    assert people.locator(".figures [aria-current]").count() == 0
    press(people, "Clear filters")

    row_of(people, "Ada Lovelace").wait_for()
    assert row_of(people, "Bob Boole").is_visible()
    assert not people.get_by_role("button", name="Clear filters").is_visible()
    assert urlsplit(people.url).query == ""


def test_headers_sort_and_say_so(people):
    people.site.query("UPDATE accounts_user SET last_sign_in_at = NULL WHERE first_name = 'Bob'")

    def names(by, direction):
        people.locator(f"[aria-sort={direction}]", has_text=by).wait_for()
        assert people.locator("[aria-sort]:visible").count() == 1
        return people.locator("#people th .who > :first-child > :first-child").all_inner_texts()

    assert names("Name", "ascending") == ["Bob Boole", "Ada Lovelace"]
    press(people, "Name")
    assert names("Name", "descending") == ["Ada Lovelace", "Bob Boole"]
    press(people, "Name")
    press(people, "Last sign-in")
    assert names("Last sign-in", "descending") == ["Ada Lovelace", "Bob Boole"]
    assert "sort=-last_sign_in" in people.url
    assert look(people, "people-sorted") == []


def test_two_factor_and_a_kept_password_show_on_the_row(people):
    badges = row_of(people, "Ada Lovelace").locator(".badge:visible")
    assert badges.all_inner_texts() == ["You", "Active"]
    people.site.query(
        "UPDATE accounts_user SET has_second_factor = true, keeps_password = true"
        " WHERE first_name = 'Ada'"
    )
    people.reload()

    badges.nth(3).wait_for()
    assert badges.all_inner_texts() == ["You", "Two-factor", "Keeps a password", "Active"]


def test_all_people_of_all_pages_are_selected(people):
    add_many(people, 40)
    people.locator("[data-range]", has_text="1 to 20 of 42").wait_for()
    people.get_by_label("Search by name or e-mail").fill("z")
    people.locator("[data-range]", has_text="1 to 20 of 40").wait_for()
    people.get_by_label("Select all").first.check()
    people.get_by_text("20 selected").wait_for()
    press(people, "Select all 40")
    people.get_by_text("40 selected").wait_for()
    people.get_by_label("Select Bob Z10").uncheck()
    people.get_by_text("19 selected").wait_for()  # of one page again
    people.get_by_label("Select Bob Z10").check()
    press(people, "Select all 40")
    people.get_by_text("40 selected").wait_for()
    assert not people.get_by_role("button", name="Select all 40").is_visible()

    people.locator("[data-bulk-act=deactivate]").first.click()
    people.locator("dialog", has_text="Bob Z19, …").wait_for()
    confirm(people, "Deactivate 40 people?")

    says(people, "40 people were deactivated.")
    query = "SELECT last_name FROM accounts_user WHERE is_active ORDER BY last_name"
    assert people.site.query(query) == [("Boole",), ("Lovelace",)]


def test_tab_is_loaded_when_it_is_opened_and_the_company_once(people):
    paths = []

    def note(request):
        if request.resource_type == "fetch":
            paths.append(urlsplit(request.url).path)

    settled(people)
    people.on("request", note)
    people.evaluate("sessionStorage.clear()")
    people.reload()
    row_of(people, "Bob Boole").wait_for()
    settled(people)
    assert paths.count("/account") == 1
    assert paths.count("/users") == 1
    assert not {"/audit", "/invitations", "/account/api-keys"} & set(paths)

    paths.clear()
    open_tab(people, "activity")
    people.locator("#events time").first.wait_for()
    assert paths == ["/audit"]
    open_tab(people, "everyone")
    settled(people)
    assert paths == ["/audit"]

    people.goto("/people#activity")
    people.reload()
    people.locator("[data-invite]:visible").wait_for()
    paths.clear()
    open_tab(people, "everyone")
    row_of(people, "Bob Boole").wait_for()
    assert paths.count("/users") == 1
