"""What a company's admin looks after on the people page, in German."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.browser.conftest import open_company, open_tab, until
from tests.browser.helpers import row_of

pytestmark = pytest.mark.browser

# The words that a person looks for.
WORDS = {
    "figures": "Aktive Personen, Admins, Offene Einladungen, Ohne zweiten Faktor, "
    "Seit 90 Tagen inaktiv, Noch nie angemeldet",
    "signed in": "Ada Lovelace hat sich angemeldet.",
    "renamed": "Ada Lovelace hat das Unternehmen von „Operators“ in „Difference Engines“ "
    "umbenannt.",
    "time zone": "Ada Lovelace hat die Zeitzone der E-Mails auf Europe/Berlin geändert.",
}
FIGURES = ["3", "2", "0", "3", "1", "1"]


@pytest.fixture
def page(site_of_ada):
    """Ada before the people page, in German; Grace has not signed in for 100 days, Carl, a member,
    never."""
    site_of_ada.query("UPDATE accounts_account SET is_operators = false")
    long_ago = datetime.now(UTC) - timedelta(days=100)
    site_of_ada.add_person("Grace Lovelace", role="admin", last_sign_in_at=str(long_ago))
    site_of_ada.add_person("Carl Lovelace")
    page = site_of_ada.account_in("de")
    open_company(page)
    page.locator("[data-overview]:visible").wait_for()
    return page


def test_figures_set_the_filters(page):
    links = page.locator(".figures a")
    said = [f"{n} {text}" for n, text in zip(FIGURES, WORDS["figures"].split(", "), strict=True)]
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
    page.get_by_text("Umbenennen", exact=True).click()
    form = page.locator("form[data-call='PATCH /account']:has([name=name])")
    form.locator("[name=name]").fill("Difference Engines")
    form.get_by_role("button", name="Änderungen speichern").click()

    page.locator("header [data-company]", has_text="Difference Engines").wait_for()
    page.reload()
    page.locator("header [data-company]", has_text="Difference Engines").wait_for()
    open_tab(page, "activity")
    page.locator("#events tr", has_text=WORDS["renamed"]).wait_for()


def test_time_zone_of_mails_is_chosen(page):
    open_tab(page, "settings")
    row = page.locator("details.row", has_text="Zeitzone der E-Mails")
    row.locator("summary", has_text="UTC").click()
    row.locator("select").select_option("Europe/Berlin")
    row.get_by_role("button", name="Änderungen speichern").click()
    row.locator("summary", has_text="Europe/Berlin").wait_for()

    page.reload()
    row.locator("summary", has_text="Europe/Berlin").click()
    assert row.locator("select").input_value() == "Europe/Berlin"
    open_tab(page, "activity")
    page.locator("#events tr", has_text=WORDS["time zone"]).wait_for()


def test_trail_of_one_person_is_a_click_away(page):
    page.get_by_label("Aktionen für Ada Lovelace").click()
    page.locator("[data-for=history]:visible", has_text="Aktivitäten").click()

    page.locator("#events tr", has_text=WORDS["signed in"]).wait_for()
    assert page.url.endswith("/people#activity")
    assert page.locator("[data-whom]").input_value() == "Ada Lovelace · ada@example.com"
    until(page, "document.activeElement.matches('[data-tab=activity] h2')")


def test_only_admin_is_not_offered_the_way_out(site_of_ada):
    page = site_of_ada.account()
    page.goto("/people")
    page.locator("#team:visible").wait_for()
    page.get_by_label("Actions for Ada Lovelace").click()

    assert page.locator("[data-for=history]:visible").count() == 1
    assert page.locator("[data-for='make member']:visible").count() == 0
    assert page.locator("[data-for=deactivate]:visible").count() == 0


# How far the activity's filters stand over the card, and the lines that the times take.
OVER = """() => Math.max(...[...document.querySelectorAll("[data-tab=activity] .filters *")].map(
    (part) => part.getBoundingClientRect().right -
        part.closest("section").getBoundingClientRect().right))"""
LINES = """() => Math.max(...[...document.querySelectorAll("#events time")].map((time) =>
    new Set([...time.getClientRects()].map((box) => Math.round(box.top))).size))"""


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_activity_fits_every_width(site_of_ada, language):
    site_of_ada.query(
        "INSERT INTO audit_record"
        " (kind, at, account_id, actor_email, subject, address, agent, detail) SELECT"
        " 'company.created', now() - interval '11 months', id, '', '', '', '', '{}'"
        " FROM accounts_account"
    )
    page = site_of_ada.account_in(language)
    page.goto("/people#activity")
    page.locator("#events tr:nth-child(2) time").wait_for()

    for width in (320, 390, 600, 650, 700, 760):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVER) < 1, width
        assert page.evaluate(LINES) == 1, width


def test_header_and_title_say_who_and_where_one_is(page):
    assert page.locator("header .me").inner_text() == "Ada Lovelace"
    assert page.title() == "Team · Unternehmen · Consulting management"

    open_tab(page, "settings")
    assert page.title().startswith("Einstellungen · Unternehmen · ")
    page.locator("[data-tab=settings] [href='#sign-in']").click()
    until(page, "document.title.startsWith('Anmeldung mit Firmenkonto · Unternehmen · ')")
    page.go_back()
    until(page, "document.title.startsWith('Einstellungen · ')")
