"""A user who is signed in connects an assistant, and one who signs in at the company's provider or
by passkey."""

import pytest

from tests.browser.conftest import heading, press
from tests.browser.helpers import CALLBACK, add_passkey, address, see, told
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser
ADA = "ada@example.com"


def answer_callback(page):
    page.route(f"{CALLBACK}**", lambda route: route.fulfill(body="Back at the assistant"))


def enter_address(page):
    page.get_by_label("E-mail address").fill(ADA)
    page.keyboard.press("Tab")


def test_signed_in_user_continues(site_of_ada):
    site_of_ada.query("UPDATE accounts_user SET email = 'ada@xn--mller-kva.example'")
    page = site_of_ada.account("ada@müller.example")
    answer_callback(page)
    page.goto(address(site_of_ada))

    page.get_by_role("button", name="Continue as Ada").wait_for()
    page.get_by_text("ada@müller.example").wait_for()
    assert see(page, "assistant-continue") == []
    press(page, "Continue as Ada")

    page.get_by_role("button", name="Allow").click()
    assert told(site_of_ada, page)["code"]


def test_user_of_the_provider_connects_an_assistant(company):
    page = company.tab(address(company))
    answer_callback(page)
    enter_address(page)
    button = page.get_by_role("button", name="Continue with Nordwind")
    button.wait_for()
    assert not page.locator("#password").is_visible()
    assert see(page, "assistant-provider") == []
    page.get_by_label("E-mail address").press("Enter")

    press(page, "Continue as Ada")
    page.get_by_role("button", name="Allow").click()

    assert told(company, page)["code"]
    [(tag, ends)] = company.query(
        "SELECT g.provider_tag = c.session_tag, g.session_end < now() + interval '13 hours'"
        " FROM assistants_grant g, accounts_connection c"
    )
    assert (tag, ends) == (True, True)


def test_break_glass_admin_finds_the_password(company):
    page = company.tab(address(company))
    enter_address(page)
    press(page, "Admins: use your password")

    page.locator("#password:focus").wait_for()
    page.get_by_label("Password", exact=True).fill("a wrong one")
    press(page, "Sign in")

    page.get_by_role("alert").wait_for()
    assert "People at Nordwind" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="Continue with Nordwind").wait_for()


def test_passkey_connects_an_assistant(page):
    key = add_passkey(page)
    page.context.clear_cookies()
    page.evaluate("localStorage.clear()")
    answer_callback(page)
    page.goto(address(page.site))
    assert len(key.credentials()) == 1
    press(page, "Use a passkey")

    page.get_by_role("button", name="Allow").click()

    assert told(page.site, page)["code"]


# What a script of our own origin could try: to fetch the pages and send their forms.
FETCH = """async (path) => {
    const parse = (text) => new DOMParser().parseFromString(text, "text/html");
    const page = parse(await (await fetch(path)).text());
    const body = new URLSearchParams(new FormData(page.querySelector("form")));
    const { session } = page.querySelector("[data-session]").dataset;
    return (await fetch(session, { method: "POST", body })).text();
}"""
# And in a window that it has opened: to press the buttons there.
PRESS = """async (path) => {
    const other = open(path, "_blank");
    const find = async (selector) => {
        for (let n = 0; n < 300; n++) {
            const element = other.document?.querySelector(selector);
            if (element) return element;
            await new Promise((done) => setTimeout(done, 100));
        }
    };
    (await find("[data-session]:not([hidden]) button")).click();
    return (await find("[role=alert]"))?.textContent;
}"""


@pytest.mark.parametrize("script", [FETCH, PRESS])
def test_script_can_t_continue(site_of_ada, script):
    page = site_of_ada.account()

    outcome = page.evaluate(script, address(site_of_ada))

    assert "You need to sign in for this." in str(outcome)
    assert site_of_ada.query("SELECT count(*) FROM assistants_grant") == [(0,)]


# Holds the rest of the buttons, 0.7 seconds, until a test lets it go on.
HOLD_REST = """addEventListener("animationstart", ({animationName, target}) => {
    if (animationName !== "rest") return;
    target.getAnimations().forEach((rest) => rest.pause());
    target.dataset.held = "";
})"""
LET_GO = "document.getAnimations().forEach((rest) => rest.finish())"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_second_click_of_a_double_one_allows_nothing(site_of_ada, motion):
    page = site_of_ada.account(reduced_motion=motion)
    answer_callback(page)
    page.goto(address(site_of_ada))
    page.add_init_script(HOLD_REST)
    press(page, "Continue as Ada")
    allow = page.locator("[value=allow][data-held]")
    box = allow.bounding_box()
    assert allow.evaluate("it => getComputedStyle(it).animationDuration") == "0.7s"

    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    heading(page, "Give this app access?")
    assert site_of_ada.query("SELECT count(*) FROM assistants_grant") == [(0,)]
    page.evaluate(LET_GO)
    page.get_by_role("button", name="Allow").click()
    assert told(site_of_ada, page)["code"]


def test_session_of_somebody_else_is_left_for_a_password(site_of_ada, bob):
    page = site_of_ada.account()
    answer_callback(page)
    page.goto(address(site_of_ada))
    press(page, "Continue as Ada")
    page.get_by_role("link", name="Not you? Use another account").click()
    page.get_by_label("E-mail address").fill("bob@example.com")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    press(page, "Sign in")

    assert "bob@example.com" in page.locator("dl").inner_text()
