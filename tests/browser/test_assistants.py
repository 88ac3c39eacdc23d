"""A person lets an assistant in, by hand and without JavaScript, on a phone and on a desk."""

import pytest

from tests.browser.conftest import heading
from tests.browser.helpers import KEY, address, look, open_page, see, sign_in, told
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("javascript", [True, False])
def test_user_allows_an_assistant(site_of_ada, javascript):
    page = open_page(site_of_ada, address(site_of_ada), java_script_enabled=javascript)
    sign_in(page, "wrong guess")
    page.get_by_role("alert").wait_for()
    page.locator("#password:focus").wait_for()
    page.wait_for_load_state()
    assert page.locator("[data-reveal]").is_visible() is javascript  # which it needs
    sign_in(page)
    page.get_by_role("button", name="Allow").click()

    answer = told(site_of_ada, page)

    assert answer["code"]
    assert (answer["state"], answer["iss"]) == ("of the client", site_of_ada.service.url)


def test_user_denies_access(site_of_ada):
    page = open_page(site_of_ada, address(site_of_ada))
    sign_in(page)
    page.get_by_role("button", name="Deny").click()

    assert told(site_of_ada, page)["error"] == "access_denied"


def test_page_works_by_keyboard_alone(site_of_ada):
    page = open_page(site_of_ada, address(site_of_ada))
    for keys in ("Tab", "ada@example.com", "Tab", PASSWORD, "Enter"):
        page.keyboard.press(keys) if keys in {"Tab", "Enter"} else page.keyboard.type(keys)
    page.get_by_role("button", name="Allow").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert told(site_of_ada, page)["code"]


def test_log_in_form_redirects_to_own_pages_only(site_of_ada):
    page = open_page(site_of_ada, address(site_of_ada))
    elsewhere = "form => { form.action = 'http://evil.test/'; form.submit(); }"

    with page.expect_console_message(lambda message: "form-action" in message.text):
        page.locator("form").evaluate(elsewhere)

    assert any("form-action" in said for said in site_of_ada.complaints)
    site_of_ada.complaints.clear()


def test_password_is_shown_and_caps_lock_said(site_of_ada):
    page = open_page(site_of_ada, address(site_of_ada), locale="de")
    password = page.locator("[name=password]")
    password.fill(PASSWORD)
    password.evaluate(KEY, True)
    page.get_by_text("Die Feststelltaste ist an.").wait_for()

    page.locator("button[data-reveal]").click()

    assert password.get_attribute("type") == "text"
    button = page.get_by_role("button", name="Passwort anzeigen")
    assert button.get_attribute("aria-pressed") == "true"
    assert look(page, "assistant-shown") == []
    page.locator("button[data-reveal]").click()
    assert password.get_attribute("type") == "password"


@pytest.mark.parametrize("javascript", [True, False])
def test_language_is_chosen_and_stays_to_the_end(site_of_ada, javascript):
    page = open_page(site_of_ada, address(site_of_ada), locale="fr", java_script_enabled=javascript)

    page.get_by_role("link", name="Svenska").click()

    page.get_by_role("heading", name="Anslut en").wait_for()
    page.locator("[name=email]").fill("ada@example.com")
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("form button:not([type])").click()
    page.locator("[value=allow]").wait_for()
    assert page.locator("html").get_attribute("lang") == "sv"
    page.locator("[value=allow]").click()
    assert told(site_of_ada, page)["code"]


def test_forgotten_password_is_asked_for_in_another_tab(site_of_ada):
    page = open_page(site_of_ada, address(site_of_ada))

    with page.expect_popup() as popup:
        page.get_by_role("link", name="Forgot your password?").click()

    heading(popup.value, "Reset your password")
    sign_in(page)  # the page is still there
    page.get_by_role("button", name="Allow").wait_for()


def test_who_asks_is_told_by_host_and_an_icon_of_ours(site_of_ada):
    page = open_page(site_of_ada, address(site_of_ada, "https://claudia.example.com/callback"))
    page.locator(".asks strong", has_text="claudia.example.com").first.wait_for()
    web = page.locator(".asks img").get_attribute("src")
    assert look(page, "assistant-host") == []
    page.goto(address(site_of_ada))

    assert page.locator(".asks img").get_attribute("src") != web
    assert page.evaluate("document.querySelector('.asks img').naturalWidth") > 0


def test_page_has_no_barrier(site_of_ada):
    start = address(site_of_ada)
    page = open_page(site_of_ada, start)
    found = {"sign-in": see(page, "assistant-sign-in")}
    sign_in(page, "wrong guess")
    page.get_by_role("alert").wait_for()
    found["wrong"] = see(page, "assistant-wrong")
    sign_in(page)
    page.get_by_role("button", name="Allow").wait_for()
    found["consent"] = see(page, "assistant-consent")
    page.goto(start.replace("localhost", "evil"))
    found["problem"] = see(page, "assistant-problem")

    assert not any(found.values()), found
