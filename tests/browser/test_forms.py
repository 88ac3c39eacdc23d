"""Forms: nothing secret leaks, a link is not lost, failures look like failures, fields help."""

import pytest

from tests.browser.conftest import fill, first_of, heading, hold, open_row, says
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

DEAD = f"/change-password#token={'A' * 64}"
# As in a browser that blocks cookies.
REFUSE_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
    const get = () => { throw new DOMException("Access is denied.", "SecurityError"); };
    Object.defineProperty(window, name, { get, configurable: true });
}
Object.defineProperty(navigator, "cookieEnabled", { value: false });"""


def test_without_javascript_only_the_notice_is_there(site):
    page = site.tab("/login", java_script_enabled=False)

    assert page.locator("noscript p").is_visible()
    assert not page.locator("main").is_visible()
    assert page.locator("main form").get_attribute("method") == "post"
    assert page.locator("main form [name]").first.is_disabled()


def test_address_copied_from_a_mail_signs_in(site_of_ada):
    page = site_of_ada.tab("/login")

    fill(page, email="\u200bada\u2060@\u2060example\u2060.\u2060com\u00ad", password=PASSWORD)

    heading(page, "Your account")


def test_form_is_disabled_until_its_script_has_loaded(site):
    context = site.person()
    context.route("**/pages.js", lambda route: route.abort())
    page = context.new_page()
    page.goto("/login")

    page.get_by_role("button", name="Sign in").click(force=True)

    assert page.locator("main [name=password]").is_disabled()
    assert page.url.endswith("/login")


def test_token_of_a_link_outlives_reload_and_language(site_of_ada):
    page = site_of_ada.password_page()
    heading(page, "Choose a new password")
    assert "#" not in page.url
    page.reload()
    page.get_by_role("button", name="Svenska").click()
    heading(page, "Välj ett nytt lösenord")

    fill(page, password=PASSWORD)

    heading(page, "Your account")  # Ada's own language
    assert page.evaluate("sessionStorage.getItem('link:/change-password')") is None


def test_dead_link_is_named_before_the_form_is_filled_in(site):
    page = site.tab(DEAD)

    heading(page, "This link doesn't work")
    assert not page.locator("[name=password]").is_visible()
    page.get_by_role("link", name="Get a new link").click()
    heading(page, "Reset your password")


def test_link_that_dies_meanwhile_is_said_on_sending(site_of_ada):
    page = site_of_ada.password_page()
    page.locator("main [name=password]:enabled").wait_for()  # the link is looked up
    other = site_of_ada.tab(site_of_ada.mailed_link())
    fill(other, password=PASSWORD)
    heading(other, "Your account")

    fill(page, password=PASSWORD)

    heading(page, "This link doesn't work")


def test_page_of_a_link_without_one_says_so(site):
    page = site.tab("/accept-invitation")

    heading(page, "This link doesn't work")
    page.get_by_text("Open the link in your e-mail again").wait_for()


def test_page_that_could_not_load_offers_another_try(site_of_ada):
    page = site_of_ada.account()
    page.route("**/users?*", lambda route: route.abort())
    page.get_by_role("link", name="Company", exact=True).click()
    says(page, "We can't reach the service.")
    assert page.locator("main form [name]").first.is_disabled()

    page.unroute("**/users?*")
    page.get_by_role("button", name="Try again").click()

    page.get_by_role("cell", name="ada@example.com").first.wait_for()
    assert page.locator("#status").inner_text() == ""


def test_field_is_judged_when_it_is_left(site):
    page = site.tab("/login")
    page.locator("[name=email]").fill("no address")
    page.locator("[name=password]").focus()

    page.get_by_text("Enter a valid e-mail address.").wait_for()
    page.locator("[name=email]").fill("ada@example.com")
    assert page.locator("[aria-invalid]").count() == 0


def test_empty_form_is_refused_in_the_pages_own_words(site):
    page = site.tab("/login")

    page.get_by_role("button", name="Sign in").click()

    assert page.get_by_text("This field is required.").count() == 2
    assert page.evaluate("document.activeElement.name") == "email"


def test_fields_say_what_the_service_finds_wrong(site_of_ada):
    page = site_of_ada.account()

    open_row(page, "Name")
    fill(page, first_name="   ")

    page.get_by_text("This field can't be blank.").wait_for()
    assert page.locator("[name=first_name]").get_attribute("aria-invalid") == "true"
    assert page.evaluate("document.activeElement.name") == "first_name"


def test_new_password_is_counted_and_can_be_shown(site_of_ada):
    page = site_of_ada.password_page()
    password = page.locator("[name=password]")
    password.fill("short")
    page.get_by_text("3 more needed").wait_for()
    password.fill("\U0001f600" * 3 + "e\u0301")  # as many characters as the service counts
    page.get_by_text("4 more needed").wait_for()
    password.fill(PASSWORD)
    page.get_by_text("Long enough").wait_for()

    page.get_by_role("button", name="Show").click()

    assert password.get_attribute("type") == "text"
    page.get_by_role("button", name="Save password").click()
    heading(page, "Your account")


def test_new_password_is_counted_as_the_service_counts_it_and_never_cut(site_of_ada):
    page = site_of_ada.password_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    password = page.locator("[name=password]")
    password.fill("\N{LOCK}" * 4 + "u\u0308")
    page.get_by_text("3 more needed").wait_for()
    page.evaluate("text => navigator.clipboard.writeText(text)", "x" * 257)
    password.fill("")

    password.press("ControlOrMeta+v")
    page.get_by_role("button", name="Save password").click()

    page.get_by_text("At most 256 characters.").wait_for()
    assert page.evaluate("document.activeElement.value.length") == 257
    password.fill("\N{LOCK}" * 256)
    page.get_by_role("button", name="Save password").click()
    heading(page, "Your account")


def test_shown_password_is_no_prose_for_the_browser(site):
    field = site.tab("/login").locator("[name=password]")

    values = {"autocapitalize": "none", "autocorrect": "off", "spellcheck": "false"}
    assert {name: field.get_attribute(name) for name in values} == values


@pytest.mark.parametrize("language", ["en", "sv"])  # the second isn't the page's
def test_browser_that_keeps_nothing_signs_in(site_of_ada, language):
    site_of_ada.query("UPDATE accounts_user SET language = %s", language)
    context = site_of_ada.person()
    context.add_init_script(REFUSE_STORAGE)
    page = context.new_page()
    page.goto("/login")
    fill(page, email="ada@example.com", password=PASSWORD)
    heading(page, "Your account")

    page.get_by_role("link", name="Company", exact=True).click()

    page.get_by_role("cell", name="ada@example.com").first.wait_for()


def test_busy_button_says_so_and_sends_once(site_of_ada):
    page = site_of_ada.tab("/login")
    calls = hold(page, "**/auth/login")
    fill(page, email="ada@example.com", password=PASSWORD)
    button = page.get_by_role("button", name="One moment…")
    button.wait_for()
    assert not page.locator("#progress").is_hidden()

    button.click(force=True)
    first_of(page, calls).continue_()
    heading(page, "Your account")
    assert len(calls) == 1


def test_mail_is_asked_for_again_and_for_another_address(site):
    page = site.person().new_page()
    page.clock.install()
    page.goto("/signup")
    fill(page, email="ada@example.com")
    heading(page, "Check your inbox")
    page.get_by_text("ada@example.com").filter(visible=True).wait_for()
    for _ in range(2):
        page.get_by_role("button", name="Resend (0:").wait_for()
        page.clock.run_for(31_000)
        with page.expect_response("**/auth/signup") as sent:
            page.get_by_role("button", name="Resend", exact=True).click()
        assert sent.value.ok
        says(page, "Sent again.")

    page.get_by_role("button", name="Change", exact=True).click()

    assert page.locator("[name=email]").input_value() == "ada@example.com"
    fill(page, email="bob@example.com")
    page.get_by_text("bob@example.com").filter(visible=True).wait_for()


def test_password_managers_are_led_to_the_change(site_of_ada):
    page = site_of_ada.account()

    page.goto("/.well-known/change-password")

    heading(page, "Your account")
    page.locator("#password > summary:visible").wait_for()
    assert page.url.endswith("/profile#password")
