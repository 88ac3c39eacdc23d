"""Links that were used already, links that never come, and links in somebody else's browser."""

import time

import pytest

from tests.browser.conftest import fill, heading, invited, open_row, press, says, settled
from tests.browser.helpers import look, see
from tests.cast import PASSWORD
from tests.requests import ask

pytestmark = pytest.mark.browser

PERSON = {"first_name": "Grace", "last_name": "Hopper", "password": PASSWORD}


def use(site, link, path, **fields):
    """Use a link up by hand."""
    token = link.partition("#token=")[2]
    body = PERSON | {"token": token} | fields
    assert ask(site.service.url, "POST", path, body).status == 200


def test_used_sign_up_link_leads_to_the_log_in_first(site):
    page = site.tab("/signup", locale="sv")
    fill(page, email="grace@example.com")
    page.locator("main .sent h1:focus").wait_for()
    link = site.mailed_link()
    use(site, link, "/auth/complete-signup", account_name="Compilers")
    page.goto(link)
    page.locator("main .dead p", has_text="Redan klart?").wait_for()

    shown = page.locator("main .dead a").all_inner_texts()

    assert shown[0] == "Logga in"
    assert len(shown) == 3  # log in, a new password, and only then a new link
    assert look(page, "used") == []
    page.get_by_role("link", name="Logga in", exact=True).last.click()
    page.locator("main [name=password]:focus").wait_for()  # the address is known


def test_link_whose_number_sign_a_mail_gateway_encoded_works(site_of_ada):
    page = invited(site_of_ada, "grace@example.com")

    page.goto(site_of_ada.mailed_link().replace("#", "%23"))

    heading(page, "Join Operators")
    fill(page, **PERSON)
    heading(page, "Your account")


def test_page_after_asking_says_what_to_do_when_no_mail_comes(site):
    page = site.tab("/signup", locale="sv")

    fill(page, email="grace@example.com")

    page.locator("main .sent > p:visible", has_text="Har du redan ett konto?").wait_for()
    ways = page.locator("main .sent a:visible")
    assert [way.get_attribute("href") for way in ways.all()] == ["/login", "/forgot-password"]
    assert look(page, "asked") == []


def test_page_says_first_that_another_user_is_signed_in(site_of_ada):
    page = invited(site_of_ada, "grace@example.com")
    page.context.add_cookies([{"name": "django_language", "value": "sv", "url": site_of_ada.url}])

    page.goto(site_of_ada.mailed_link())

    page.locator("[data-somebody-else]", has_text="Du är inloggad som ada@example.com.").wait_for()
    button = page.locator("main form button:not([type])")
    assert button.get_attribute("aria-describedby") == "somebody-else"
    assert look(page, "somebody-else") == []
    fill(page, **PERSON)
    page.get_by_text("grace@example.com").filter(visible=True).wait_for()


def test_company_in_the_header_is_that_of_who_is_signed_in(site_of_ada):
    page = site_of_ada.account()
    page.locator("[data-company]", has_text="Operators").wait_for()
    ask(site_of_ada.service.url, "POST", "/auth/signup", {"email": "grace@example.com"})
    page.goto(site_of_ada.mailed_link())
    page.locator("[data-somebody-else]", has_text="ada@example.com").wait_for()

    fill(page, account_name="Compilers", **PERSON)

    page.locator("[data-company]", has_text="Compilers").wait_for()


def test_own_link_says_nothing_of_somebody_else(site_of_ada):
    page = site_of_ada.account()
    open_row(page, "Password")
    page.locator("#new_password").fill("a brand new password")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Forgot your password?").click()
    heading(page, "Reset your password")
    fill(page, email="ada@example.com")

    page.goto(site_of_ada.mailed_link())

    page.locator("[autocomplete=username]:visible").wait_for()
    page.get_by_role("button", name="Sign out", exact=True).wait_for()
    settled(page)
    assert page.locator("[data-somebody-else]").inner_text() == ""


TEAM = [f"person{n}@example.com" for n in range(20)]
INVITE = """
import django
django.setup()
from accounts.models import User
from invitations.models import Invitation
for n in range(20):
    Invitation.objects.invite(User.objects.get(), f"person{n}@example.com")
"""


def test_team_of_twenty_accepts_from_one_office_without_a_refusal(new_site):
    """The default limits let ten through in a minute: the other pages wait, and go on."""
    site = new_site()
    site.operator()
    site.service.run("-c", INVITE)
    pages = [site.tab(site.mailed_link(to=email)) for email in TEAM]
    for page, email in zip(pages, TEAM, strict=True):
        heading(page, "Join Operators")
        assert page.locator("[autocomplete=username]:visible").input_value() == email
    begun = time.monotonic()
    for page in pages:
        fill(page, **PERSON)

    says(pages[-1], "it continues automatically in")
    assert pages[-1].locator("main [name=first_name]").input_value() == "Grace"
    for page in pages:
        page.get_by_role("heading", name="Your account", level=1).wait_for(timeout=300_000)
    assert time.monotonic() - begun < 300


def test_page_of_a_link_waits_for_a_limit_and_then_names_the_company(site_of_ada):
    site_of_ada.service.run("-c", INVITE)
    page = site_of_ada.person().new_page()
    body = {"error": "rate_limited", "message": "Too many requests"}
    limited = {"status": 429, "json": body, "headers": {"Retry-After": "42"}}
    page.route("**/pages/link", lambda route: route.fulfill(**limited), times=1)
    page.clock.install()
    page.add_init_script("Math.random = () => 0")  # comes back at once, not within ten seconds
    page.goto(site_of_ada.mailed_link(to=TEAM[0]))
    says(page, "it continues automatically in 42 seconds.")
    assert look(page, "limited-link") == []

    page.clock.run_for(43_000)

    heading(page, "Join Operators")
    assert page.locator("[autocomplete=username]:visible").input_value() == TEAM[0]
    assert page.locator("#status").inner_text() == ""


def test_after_an_invitation_the_page_leads_to_the_product(new_site):
    site = new_site(AFTER_SIGNIN_URL="https://app.example.com/start")
    site.operator()
    invited(site, "charles@example.com")
    page = site.tab(site.mailed_link("charles@example.com"))

    fill(page, first_name="Charles", last_name="Babbage", password=PASSWORD)

    page.get_by_role("heading", name="You've joined").wait_for()
    product = page.get_by_role("link", name="Continue")
    assert product.get_attribute("href") == "https://app.example.com/start"
    page.get_by_role("main").get_by_role("link", name="Your account").click()
    heading(page, "Your account")


def test_invitation_of_a_user_of_the_provider_leads_there(company):
    company.give_ada_a_password(required=False)
    invited(company, "grace@example.com")
    company.query("UPDATE accounts_connection SET required = true")
    company.provider.browsing = {"sub": "grace", "email": "grace@example.com"}
    page = company.tab(company.mailed_link(page="/accept-invitation"))

    heading(page, "Join Nordwind")
    assert page.locator("main input:visible").count() == 0
    page.get_by_text("Ada Lovelace invited you.").wait_for()
    assert see(page) == []
    press(page, "Continue with Nordwind")

    heading(page, "Your account")
    page.locator("#profile [data-at-company]", has_text="grace@example.com").wait_for()


def test_invitation_of_a_user_of_another_company_says_whom_to_ask(site_of_ada):
    invited(site_of_ada, "grace@example.org")
    site_of_ada.add_person("Grace Hopper", email="grace@example.org")
    page = site_of_ada.tab(site_of_ada.mailed_link(page="/accept-invitation"), locale="sv")

    heading(page, "Du har redan ett konto")
    page.get_by_text("Be Ada Lovelace").wait_for()
    assert page.locator("main input:visible").count() == 0
    assert see(page) == []
    page.locator("main").get_by_role("link", name="Logga in").click()
    heading(page, "Logga in")
