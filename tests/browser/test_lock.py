"""Who is locked out is told what helps, in no circle, on every page that meets a lock."""

import pytest

from tests.browser.conftest import SCREENSHOTS, fill, heading, says
from tests.browser.test_factors import add_passkey
from tests.browser.test_pages import look, violations
from tests.conftest import PASSWORD, query
from tests.requests import ask

pytestmark = pytest.mark.browser

ADVICE = {
    "en": "Too many attempts: wait 15 minutes or reset your password.",
    "de": "Zu viele Versuche: 15 Minuten warten oder Passwort ändern.",
    "sv": "För många försök: vänta 15 minuter eller återställ lösenordet.",
}
NOT_USED_UP = {
    "en": "Your link still works.",
    "de": "Der Link bleibt gültig.",
    "sv": "Länken fungerar fortfarande.",
}
LONG = {
    "en": ("in 15 minutes at most.", "Reset your password"),
    "de": ("spätestens in 15 Minuten", "Passwort zurücksetzen"),
    "sv": ("senast om 15 minuter.", "Återställ ditt lösenord"),
}


def lock(site):
    """Somebody guesses at Ada's password until her address is locked."""
    wrong = {"email": "ada@example.com", "password": "a wrong guess"}
    answers = [ask(site.service.url, "POST", "/auth/login", wrong) for _ in range(5)]
    assert {answer.status for answer in answers} == {401}


def unlock(site):
    site.service.manage("unlock", "ada@example.com")


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_advice_at_a_lock_is_true_to_its_end(site_of_ada, language):
    lock(site_of_ada)
    page = site_of_ada.tab("/login", locale=language)
    fill(page, email="ada@example.com", password=PASSWORD)
    says(page, ADVICE[language])
    assert look(page, f"locked-{language}") == []
    assert page.locator(".card #status").bounding_box()["height"] < 70  # two lines
    page.locator(".card #status a").click()
    page.locator("main form[data-sent]").wait_for()
    fill(page, email="ada@example.com")
    page.goto(site_of_ada.mailed_link(page="/change-password"))
    page.locator("[autocomplete=username]:visible").wait_for()
    fill(page, password="a new and better one")
    says(page, NOT_USED_UP[language])
    unlock(site_of_ada)

    page.locator("main form button:not([type])").click()

    heading(page, "Your account")  # Ada's own language


def test_signed_in_person_at_a_lock_reads_how_long_and_what_works(
    new_site,
):
    site = new_site(RATE_LIMIT_CREDENTIAL="100", RATE_LIMIT_WINDOW_SECONDS="2")
    site.operator()
    page = site.log_in(site.tab())
    heading(page, "Your account")
    lock(site)

    for language, (length, link) in LONG.items():
        speak(site, page, language)
        page.goto("/profile")
        says(page, length)
        assert page.locator("#status a").all_inner_texts()[1] == link
        page.screenshot(path=SCREENSHOTS / f"lock-{language}.png")
        assert violations(page) == []
    page.locator("#status a").last.click()
    page.locator("main form[data-sent] [name=email]:focus").wait_for()
    unlock(site)
    page.goto("/profile")
    page.get_by_text("ada@example.com").wait_for()


def speak(site, page, language):
    """From now on the pages speak this language to Ada."""
    url = site.service.environment["DATABASE_URL"]
    query(url, f"UPDATE accounts_user SET language = '{language}'")
    page.context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])


def test_passkey_works_while_the_address_is_locked(new_site):
    site = new_site(RATE_LIMIT_CREDENTIAL="100", RATE_LIMIT_WINDOW_SECONDS="2")
    site.operator()
    page = site.log_in(site.tab())
    page.get_by_text("Not set up yet.").wait_for()
    key = add_passkey(page)
    lock(site)
    page.reload()
    key.leave_unseen(lambda page: page.locator("#status a", has_text="Sign in").click())

    page.get_by_role("button", name="Use a passkey").click()

    page.locator("#profile", has_text="ada@example.com").wait_for()


def test_first_wait_is_said_to_be_short(new_site):
    site = new_site(RATE_LIMIT_CREDENTIAL="100", RATE_LIMIT_WINDOW_SECONDS="30")
    site.operator()
    page = site.log_in(site.tab())
    heading(page, "Your account")
    lock(site)

    page.reload()

    says(page, "This continues automatically in a moment.")
    assert page.locator("#status a").count() == 0
