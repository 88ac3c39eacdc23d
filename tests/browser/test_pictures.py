"""The README's pictures are taken anew into screenshots/; CONTRIBUTING.md tells how they come into
docs/pictures/."""

import pytest

from tests.browser.conftest import SCREENSHOTS, fill, invite, says, settled
from tests.browser.helpers import operator
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

MAKE_COMPANY = """
from accounts.models import Account, User
firm = Account.objects.create(name="Analytical Engines")
def add(name, role="member", **fields):
    first, last = name.split()
    email = f"{first}@example.com".lower()
    names = {"first_name": first, "last_name": last}
    User.objects.create_user(email, "%s", account=firm, role=role, **names, **fields)
add("Grace Hopper", "admin")
add("Charles Babbage")
add("Mary Somerville", "admin")
add("Luigi Menabrea", is_active=False)
"""
VIEW = {"width": 1000, "height": 640}


def take(page, name):
    page.mouse.move(0, 0)
    settled(page)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"picture-{name}.png", animations="disabled")


def test_pages_of_a_company(site):
    site.service.manage("shell", "--no-imports", "-c", MAKE_COMPANY % PASSWORD)
    page = site.tab("/login", viewport=VIEW)
    page.locator("[name=email]").fill("grace@example.com")
    take(page, "login")
    fill(page, email="grace@example.com", password=PASSWORD)
    page.locator("[data-protection]:not(:empty)").wait_for()
    take(page, "account")
    page.get_by_role("link", name="Company", exact=True).click()
    invite(page, "augusta@example.com")
    says(page, "Invitation sent to")
    page.goto("/people")

    page.get_by_text("Charles Babbage").wait_for()

    take(page, "people")
    assert page.get_by_text("Mary Somerville").is_visible()


def test_back_office(site_of_ada):
    site = site_of_ada
    site.service.manage("shell", "--no-imports", "-c", MAKE_COMPANY % PASSWORD)
    for name in ("grace", "mary", "charles"):
        site.service.bearer(f"{name}@example.com")  # logs in
    site.guess("charles@example.com")

    take(operator(site, viewport=VIEW), "back-office")
