"""What the account page leads on to after a sign-up."""

import pytest

from tests.browser.conftest import fill, heading, invite, press, says, settled
from tests.browser.helpers import add_passkey, look
from tests.cast import PASSWORD
from tests.requests import ask

pytestmark = pytest.mark.browser
PERSON = {"first_name": "Grace", "last_name": "Hopper", "password": PASSWORD}


# As in a browser whose storage for this origin is full.
FILL_STORAGE = """const { setItem } = Storage.prototype;
Storage.prototype.setItem = function (...item) {
    if (this === localStorage) throw new DOMException("Full.", "QuotaExceededError");
    setItem.apply(this, item);
}"""


@pytest.fixture
def founder(site):
    """Grace's account page, after she has signed up her company."""
    ask(site.service.url, "POST", "/auth/signup", {"email": "grace@example.com"})
    page = site.tab(site.mailed_link())
    fill(page, account_name="Compilers", **PERSON)
    heading(page, "Your account")
    page.get_by_role("heading", name="First steps").wait_for()
    return page


def steps(page):
    return page.locator("[data-first-steps] .row:visible strong").all_inner_texts()


def test_company_is_signed_up_although_the_storage_is_full(site):
    ask(site.service.url, "POST", "/auth/signup", {"email": "grace@example.com"})
    context = site.person()
    context.add_init_script(FILL_STORAGE)
    page = context.new_page()
    page.goto(site.mailed_link())

    fill(page, account_name="Compilers", **PERSON)

    heading(page, "Your account")
    says(page, "Welcome")
    assert not page.get_by_role("heading", name="First steps").is_visible()


def test_steps_are_gone_once_they_are_done(founder):
    assert steps(founder) == ["Invite your team", "Protect your account"]
    assert look(founder, "first-steps") == []

    founder.get_by_role("link", name="Invite people").click()
    invite(founder, "ada@example.com")
    says(founder, "Invitation sent to ada@example.com.")
    founder.goto("/profile")

    founder.get_by_role("heading", name="First steps").wait_for()
    assert steps(founder) == ["Protect your account"]
    add_passkey(founder)
    founder.locator("[data-first-steps]").wait_for(state="hidden")


def test_steps_are_hidden_for_good(founder):
    press(founder, "Hide these steps")

    founder.locator("h1:focus").wait_for()
    founder.reload()
    founder.locator("#factors").wait_for(state="attached")
    founder.get_by_text("Not set up yet.").wait_for()
    settled(founder)
    assert not founder.locator("[data-first-steps]").is_visible()


def test_steps_lead_to_the_product(new_site):
    site = new_site(AFTER_SIGNIN_URL="https://app.example.com/start")
    ask(site.service.url, "POST", "/auth/signup", {"email": "grace@example.com"})
    page = site.tab(site.mailed_link())
    fill(page, account_name="Compilers", **PERSON)

    link = page.locator("[data-first-steps] a[data-leave]:visible")
    link.wait_for()
    assert link.get_attribute("href") == "https://app.example.com/start"


def test_admins_who_founded_nothing_see_no_steps(page):
    settled(page)
    assert not page.locator("[data-first-steps]").is_visible()
