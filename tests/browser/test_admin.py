"""The admin site as an operator uses it when somebody asks for help."""

import pytest

from tests.browser.conftest import SCREENSHOTS
from tests.conftest import PASSWORD, query
from tests.requests import ask

pytestmark = pytest.mark.browser


def act(page, where, row, action):
    """Choose the row that shows these words, take the action, and give what the site says."""
    page.goto(f"/admin/{where}/")
    page.locator("#result_list tbody tr", has_text=row).locator("input.action-select").check()
    page.locator("select[name=action]").select_option(label=action)
    page.locator("button[name=index]").click()
    page.locator(".messagelist, button.danger").first.wait_for()
    if page.locator("button.danger").count():  # what hurts asks first
        page.locator("button.danger").click()
    return str(page.locator(".messagelist").inner_text())


def invite(page, company, email):
    """From "Add user", with the search for the company, to the site's word that it is done."""
    page.goto("/admin/accounts/user/")
    page.locator(".object-tools a").click()
    page.locator(".field-account .select2-selection").click()
    page.locator(".select2-search__field").fill(company)
    page.locator(".select2-results__option", has_text=company).click()
    page.locator("[name=email]").fill(email)
    page.locator("[name=_save]").click()
    return str(page.locator(".messagelist").inner_text())


def enter(page):
    """Log in to the admin site."""
    page.locator("[name=username]").fill("ada@example.com")
    page.locator("[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")


def test_operator_helps_and_the_trail_tells(site_of_ada):
    site = site_of_ada
    for _ in range(5):
        wrong = {"email": "bob@example.com", "password": "wrong guess"}
        assert ask(site.service.url, "POST", "/auth/login", wrong).status == 401
    right = {"email": "ada@example.com", "password": PASSWORD}
    access = ask(site.service.url, "POST", "/auth/login", right).json()["access_token"]
    page = site.tab("/admin/")
    enter(page)
    page.get_by_role("heading", name="Back office").wait_for()

    assert "bob@example.com" in invite(page, "Operators", "bob@example.com")
    assert "cleared: 1" in act(
        page,
        "throttling/lockout",
        "bob@example.com",
        "Clear: let these addresses sign in again",
    )
    assert "sent again: 1" in act(
        page, "invitations/invitation", "bob@example.com", "Send again, with a new link"
    )
    assert "signed out: 1" in act(page, "accounts/user", "ada@example.com", "Sign out everywhere")

    signed_out = ask(site.service.url, "GET", "/auth/me", Authorization=f"Bearer {access}")
    assert signed_out.status == 401
    page.goto("/admin/audit/record/")
    enter(page)  # the operator's own session has ended, too
    shown = page.locator("#result_list").inner_text()
    page.screenshot(path=SCREENSHOTS / "admin-trail.png")
    for words in ("lock cleared", "invited", "invitation sent again", "signed out everywhere"):
        assert words in shown
    url = site.service.environment["DATABASE_URL"]
    assert query(url, "SELECT count(*) FROM audit_record WHERE kind = 'lock.cleared'") == [(1,)]


@pytest.mark.parametrize(
    "where",
    [
        "accounts/user",
        "mail/outgoingmail",
        "invitations/invitation",
        "throttling/lockout",
        "audit/record",
    ],
)
@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_no_column_of_a_list_is_off_the_screen(site_of_ada, where, language):
    site = site_of_ada
    wrong = {"email": "somebody.with.a.long.address@subsidiary.example.com", "password": "wrong"}
    ask(site.service.url, "POST", "/auth/login", wrong)
    ask(site.service.url, "POST", "/auth/signup", wrong)
    page = site.tab("/admin/", viewport={"width": 1280, "height": 900}, locale=language)
    enter(page)
    page.locator("form.search").wait_for()
    page.goto(f"/admin/{where}/")

    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    results = page.locator(".results")
    assert not results.count() or results.evaluate("it => it.scrollWidth <= it.clientWidth")
