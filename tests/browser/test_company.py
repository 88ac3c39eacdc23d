"""What a company's admin looks after on the people page, in the three languages."""

import json
import uuid

import pytest

from tests.browser.conftest import fill, heading, open_tab, says
from tests.browser.test_people import act, row_of
from tests.conftest import PASSWORD, query

pytestmark = pytest.mark.browser

# The words that a person looks for, in each language.
WORDS = {
    "en": {
        "figures": "Active people, Admins, Open invitations, Without two-factor, Not for 90 days, "
        "Never signed in",
        "signed in": "Ada Lovelace signed in.",
        "history": "Activity",
        "actions": "Actions for Ada Lovelace",
        "rename": "Rename",
        "save": "Save changes",
        "renamed": "Ada Lovelace renamed the company from “Operators” to “Difference Engines”.",
    },
    "de": {
        "figures": "Aktive Personen, Admins, Offene Einladungen, Ohne zweiten Faktor, "
        "Seit 90 Tagen nicht, Noch nie angemeldet",
        "signed in": "Ada Lovelace hat sich angemeldet.",
        "history": "Aktivitäten",
        "actions": "Aktionen für Ada Lovelace",
        "rename": "Umbenennen",
        "save": "Änderungen speichern",
        "renamed": "Ada Lovelace hat das Unternehmen von „Operators“ in „Difference Engines“ "
        "umbenannt.",
    },
    "sv": {
        "figures": "Aktiva personer, Administratörer, Öppna inbjudningar, Utan tvåsteg, "
        "Inte på 90 dagar, Aldrig inloggad",
        "signed in": "Ada Lovelace loggade in.",
        "history": "Aktivitet",
        "actions": "Åtgärder för Ada Lovelace",
        "rename": "Byt namn",
        "save": "Spara ändringar",
        "renamed": "Ada Lovelace bytte företagets namn från ”Operators” till ”Difference Engines”.",
    },
}
FIGURES = ["3", "2", "0", "3", "1", "1"]


@pytest.fixture(params=list(WORDS))
def page(site_of_ada, request):
    """Ada before the people page, in one of the languages; Grace has not signed in for 100 days,
    Carl, a member, never."""
    url = site_of_ada.service.environment["DATABASE_URL"]
    query(url, "UPDATE accounts_user SET language = %s", request.param)
    query(url, "UPDATE accounts_account SET is_operators = false")
    copied = "SELECT (json_populate_record(u, %s)).* FROM accounts_user u WHERE email LIKE 'ada@%%'"
    for name, role, days in (("Grace", "admin", 100), ("Carl", "member", None)):
        person = {"id": str(uuid.uuid4()), "email": f"{name}@example.com".lower(), "role": role}
        query(url, f"INSERT INTO accounts_user {copied}", json.dumps(person | {"first_name": name}))
        if days:
            ago = "UPDATE accounts_user SET last_sign_in_at = now() - interval '100 days'"
            query(url, f"{ago} WHERE email = 'grace@example.com'")
    page = site_of_ada.tab("/login", locale=request.param)
    fill(page, email="ada@example.com", password=PASSWORD)
    page.locator("[data-when=admin]:visible").click()
    page.locator("[data-overview]:not([hidden])").wait_for()
    page.words = WORDS[request.param]
    return page


def test_figures_set_the_filters(page):
    links = page.locator(".figures a")
    said = [
        f"{n} {text}" for n, text in zip(FIGURES, page.words["figures"].split(", "), strict=True)
    ]
    assert [" ".join(text.split()) for text in links.all_inner_texts()] == said

    links.nth(4).click()
    row_of(page, "Ada Lovelace").wait_for(state="detached")
    row_of(page, "Grace Lovelace").wait_for()
    assert row_of(page, "Carl Lovelace").count() == 0

    links.nth(5).click()
    row_of(page, "Grace Lovelace").wait_for(state="detached")
    row_of(page, "Carl Lovelace").wait_for()
    assert page.locator("[data-filter=seen]").input_value() == "never"


def test_company_is_renamed_and_a_sentence_says_so(page):
    open_tab(page, "settings")
    page.get_by_text(page.words["rename"], exact=True).click()
    form = page.locator("form[data-company-name]")
    form.locator("[name=name]").fill("Difference Engines")
    form.get_by_role("button", name=page.words["save"]).click()

    page.locator("header [data-company]", has_text="Difference Engines").wait_for()
    page.reload()
    page.locator("header [data-company]", has_text="Difference Engines").wait_for()
    open_tab(page, "activity")
    page.locator("#events tr", has_text=page.words["renamed"]).wait_for()


def test_trail_of_one_person_is_a_click_away(page):
    page.get_by_label(page.words["actions"]).click()
    page.locator("[data-for=history]:visible", has_text=page.words["history"]).click()

    page.locator("#events tr", has_text=page.words["signed in"]).wait_for()
    assert page.url.endswith("/people#activity")
    assert page.locator("[data-whom]").input_value() == "Ada Lovelace"


def test_only_admin_is_not_offered_the_way_out(site_of_ada):
    page = site_of_ada.log_in(site_of_ada.tab())
    heading(page, "Your account")
    page.goto("/people")
    page.locator("#team:visible").wait_for()
    page.get_by_label("Actions for Ada Lovelace").click()

    assert page.locator("[data-for=history]:visible").count() == 1
    assert page.locator("[data-for='make member']:visible").count() == 0
    assert page.locator("[data-for=deactivate]:visible").count() == 0


def test_second_admin_may_leave(people):
    act(people, "Bob Boole", "Make admin", confirm="Make Bob Boole an admin?")
    people.locator("[data-text=admins]", has_text="2").wait_for()

    act(people, "Ada Lovelace", "Make member", confirm="Give up your own admin role?")

    heading(people, "Your account")
    says(people, "Your role was changed.")
