"""What a company's admin looks after on the people page, in the three languages."""

import json
import uuid

import pytest

from tests.browser.conftest import PHONE, fill, heading
from tests.browser.test_arrival import LINES
from tests.browser.test_pages import look
from tests.browser.test_people import act, row_of
from tests.conftest import query

pytestmark = pytest.mark.browser

# The words that a person looks for, in each language.
WORDS = {
    "en": {
        "people": "Active people", "admins": "Admins", "invitations": "Open invitations",
        "without_factor": "Without two-factor authentication",
        "absent": "Not signed in for 90 days",
        "since": "Last sign-in", "what": "What", "role": "Role changed", "history":
        "Activity", "actions": "Actions for Ada Lovelace", "alone": "Only Ada Lovelace",
        "everybody": "Show everyone", "empty": "No people match your search.", "rename": "Rename",
    },
    "de": {
        "people": "Aktive Personen", "admins": "Admins", "invitations": "Offene Einladungen",
        "without_factor": "Ohne Zwei-Faktor-Authentifizierung",
        "absent": "Seit 90 Tagen nicht angemeldet",
        "since": "Letzte Anmeldung", "what": "Was", "role": "Rolle geändert", "history":
        "Aktivitäten", "actions": "Aktionen für Ada Lovelace", "alone": "Nur Ada Lovelace",
        "everybody": "Alle anzeigen", "empty": "Keine Treffer.", "rename": "Umbenennen",
    },
    "sv": {
        "people": "Aktiva personer", "admins": "Administratörer", "invitations":
        "Öppna inbjudningar", "without_factor": "Utan tvåstegsverifiering", "absent":
        "Inte inloggade på 90 dagar", "since": "Senaste inloggning", "what": "Vad", "role":
        "Rollen ändrad", "history": "Aktivitet", "actions": "Åtgärder för Ada Lovelace",
        "alone": "Bara Ada Lovelace", "everybody": "Visa alla", "empty": "Inga träffar.",
        "rename": "Byt namn",
    },
}  # fmt: skip
FIGURES = {"people": "1", "admins": "1", "without_factor": "1", "absent": "0", "invitations": "0"}


@pytest.fixture(params=list(WORDS))
def page(site_of_ada, request):
    """Ada before the people page, in one of the languages; `words` are its."""
    url = site_of_ada.service.environment["DATABASE_URL"]
    query(url, "UPDATE accounts_user SET language = %s", request.param)
    page = site_of_ada.tab("/login", locale=request.param)
    fill(page, email="ada@example.com", password="correct horse battery")
    page.get_by_text("ada@example.com").wait_for()
    page.goto("/people")
    page.locator("[data-overview]:not([hidden])").wait_for()
    page.words, page.url_of_database = WORDS[request.param], url
    page.language = request.param
    return page


def test_company_is_seen_in_figures(page):
    for name, figure in FIGURES.items():
        line = page.locator(".figures div", has=page.locator(f"[data-text={name}]"))

        assert line.locator("dt").inner_text() == page.words[name]
        assert line.locator("dd").inner_text() == figure
    assert look(page, f"overview-desktop-{page.language}") == []


def test_company_is_seen_on_a_phone(page):
    page.set_viewport_size(PHONE)

    assert look(page, f"overview-phone-{page.language}") == []


def test_who_has_not_been_here_for_long_is_found(page):
    field = page.get_by_label(page.words["since"], exact=True)
    field.select_option(label=page.words["absent"])
    page.get_by_text(page.words["empty"]).wait_for()

    grace = {"id": str(uuid.uuid4()), "email": "grace@example.com", "first_name": "Grace"}
    copied = "SELECT (json_populate_record(u, %s)).* FROM accounts_user u"
    query(page.url_of_database, f"INSERT INTO accounts_user {copied}", json.dumps(grace))
    page.reload()
    field.select_option(label=page.words["absent"])

    row_of(page, "Grace Lovelace").first.wait_for()
    row_of(page, "Ada Lovelace").first.wait_for(state="detached")
    page.locator("dd[data-text=absent]", has_text="1").wait_for()


def test_trail_is_narrowed_by_kind(page):
    page.locator("#events tr[data-id], #events tr:not(.skeleton)").first.wait_for()
    page.get_by_label(page.words["what"], exact=True).select_option(label=page.words["role"])

    page.locator("#events tr").first.wait_for(state="detached")
    assert page.locator("section:has(#events) .empty").is_visible()


def test_trail_is_narrowed_by_person(page):
    page.get_by_label(page.words["actions"]).click()
    page.locator("[data-for=history]:visible", has_text=page.words["history"]).click()

    page.get_by_text(page.words["alone"], exact=True).wait_for()
    assert "ada@example.com" in page.locator("#events").inner_text()
    page.get_by_role("button", name=page.words["everybody"]).click()
    page.get_by_text(page.words["alone"], exact=True).wait_for(state="hidden")


def test_address_in_the_trail_stays_in_one_line_where_there_is_room(page):
    address = page.locator("#events td[data-text=subject]", has_text="ada@example.com").first
    address.wait_for()

    assert address.evaluate(LINES) == 1


def test_only_admin_is_not_offered_the_way_out(page):
    page.get_by_label(page.words["actions"]).click()

    assert page.locator("[data-for=history]:visible").count() == 1
    assert page.locator("[data-for='make member']:visible").count() == 0
    assert page.locator("[data-for=deactivate]:visible").count() == 0


def test_company_is_renamed(page):
    query(page.url_of_database, "UPDATE accounts_account SET is_operators = false")
    form = page.locator("form[data-company-name]")
    form.locator("[name=name]").fill("Difference Engines")
    form.get_by_role("button", name=page.words["rename"]).click()

    page.locator("[data-company]", has_text="Difference Engines").wait_for()
    page.reload()
    page.locator("[data-company]", has_text="Difference Engines").wait_for()


def test_second_admin_may_leave(people):
    act(people, "Bob Boole", "Make admin", confirm="Make Bob Boole an admin?")
    people.locator("dd[data-text=admins]", has_text="2").wait_for()

    act(people, "Ada Lovelace", "Make member", confirm="Give up your own admin role?")

    heading(people, "Your account")
