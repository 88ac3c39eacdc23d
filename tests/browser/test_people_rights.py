"""Own data, a team invited at once, filters, downloads, the company's name."""

import json

import pytest

from tests.browser.conftest import download, heading, invite, open_tab, says, settled

pytestmark = pytest.mark.browser


@pytest.fixture
def people(site_of_ada):
    page = site_of_ada.account()
    page.get_by_role("link", name="Company", exact=True).click()
    heading(page, "Company")
    page.get_by_text("You", exact=True).wait_for()
    page.locator("#team:visible").wait_for()  # which moves the list
    return page


def test_own_data_is_downloaded(page):
    assert json.loads(download(page, "Download"))["profile"]["email"] == "ada@example.com"


def test_figures_take_no_focus_from_the_invitation_form(people):
    people.locator("#team:enabled:visible").wait_for()
    settled(people)
    people.locator("#team").focus()
    with people.expect_response("**/pages/overview"):
        people.evaluate("one = new Event('loaded', {bubbles: true}); people.dispatchEvent(one)")
    settled(people)

    assert people.locator("#team:focus").count() == 1


def test_empty_company_sees_the_invitation_form_and_each_outcome(people):
    people.locator("#team:visible").wait_for()
    assert not people.locator("[data-invite]").is_visible()
    invite(people, "bob@example.com, C., Carl <carl@example.com>", "nobody; ada@example.com")

    people.get_by_text("2 invitations sent. 2 not sent:").wait_for()
    assert people.locator("[data-outcome] li").all_text_contents() == [
        "nobody: Enter a valid e-mail address.",
        "ada@example.com: This person is already a member."
        " You can reactivate a deactivated account.",
    ]
    assert people.get_by_label("E-mail addresses").input_value() == "nobody\nada@example.com"
    people.get_by_label("E-mail addresses").fill("dora@example.com")
    people.get_by_role("button", name="Send invitations").click()
    says(people, "Invitation sent to dora@example.com.")
    people.get_by_role("button", name="Invite people").wait_for()
    open_tab(people, "invitations")
    people.locator("#invitations tr", has_text="carl@example.com").wait_for()


PASTED = """\
ann@example.com Bob <bob@example.com>
Cleo <cleo@example.com>\tDan <dan@example.com>
Eve L <eve@example.com> finn@example.com
gusexample.com, Hal <hal@example.com>
King, Ida <ida@example.com>, "King, Jo" <jo@example.com>; 'kim@example.com' <kim@example.com>"""


def test_no_address_of_a_pasted_list_is_lost(people):
    people.route("**/invitations", lambda route: route.fulfill(json={"items": []}))
    with people.expect_request("**/invitations") as sent:
        invite(people, PASTED)

    addresses = [item["email"].split("@")[0] for item in sent.value.post_data_json["invitations"]]
    assert " ".join(addresses) == "ann bob cleo dan eve finn gusexample.com hal ida jo kim"


def test_failure_halfway_leaves_the_addresses_that_were_not_invited(people):
    people.locator("#team").fill("\t".join(f"a{number}@example.com" for number in range(51)))
    last, sends = "a50@example.com", {True: "abort", False: "continue_"}
    people.route("**/invitations", lambda it: getattr(it, sends[last in it.request.post_data])())
    people.locator("[data-team] [type=submit]").dblclick()

    people.get_by_text("50 invitations sent.").wait_for()
    assert people.locator("[data-outcome] p").count() == 2  # that, and what went wrong
    assert people.get_by_label("E-mail addresses").input_value() == last


def test_search_and_filters_are_over_people_and_invitations(people):
    invite(people, "bob@example.com", "carl@example.com")
    says(people, "2 invitations sent.")
    open_tab(people, "invitations")
    people.locator("#invitations tr", has_text="bob@").wait_for()
    people.get_by_label("Search invitations").fill("carl")
    people.locator("#invitations tr", has_text="bob@").wait_for(state="detached")
    people.locator("#invitations tr", has_text="carl@").wait_for()

    open_tab(people, "everyone")
    people.locator("[data-filter=is_active]").select_option("false")
    people.locator("#people tr").wait_for(state="detached")
    people.get_by_role("link", name="1 Active people").click()
    people.locator("#people tr", has_text="Ada").wait_for()
    people.locator("[data-filter=seen]").select_option("never")
    people.locator("#people tr").wait_for(state="detached")
    people.locator("[data-filter=seen]").select_option("")
    people.get_by_role("button", name="Last sign-in").click()
    people.locator("#people tr", has_text="Ada").wait_for()
    people.get_by_role("link", name="2 Open invitations").click()
    people.locator("#invitations tr", has_text="bob@").wait_for()


def test_csv_quotes_formulas(people, site_of_ada):
    change = "UPDATE accounts_user SET first_name = '=1+1', last_name = 'say \"hi\";=1'"
    site_of_ada.query(change)

    content = download(people, "Download as CSV")
    assert content.startswith(b"\xef\xbb\xbfemail,")  # by which Excel knows UTF-8
    head, row = content.decode("utf-8-sig").splitlines()
    assert head.startswith("email,first_name,last_name,role,status,last_sign_in_at")
    assert row.startswith('"ada@example.com","\'=1+1","say ""hi"";\'=1","admin","active","20')
