"""Going from page to page: links, the browser's history, pages that come late or not at all, and
other users in other tabs."""

import json
import re
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import (
    fill,
    first_of,
    heading,
    hold,
    made,
    open_tab,
    says,
    settled,
    until,
)
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

OTHER = "/static/0123456789ab/"  # the folder of another release's files
# The page's own module of this name.
MODULE = """import(document.querySelector(`[rel=modulepreload][href$="/${name}.js"]`).href)"""
# Whether the script follows a link that is clicked so; the browser never does.
FOLLOWED = """([attributes, keys]) => {
    const link = Object.assign(document.createElement("a"), {href: "/signup", ...attributes});
    if (attributes.leave) link.dataset.leave = "";
    document.body.append(link);
    let followed;
    addEventListener("click", (event) => {
        followed = event.defaultPrevented;
        event.preventDefault();
    }, {once: true});
    link.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, ...keys}));
    link.remove();
    return followed;
}"""
SENT = """(typed) => {
    const form = document.createElement("form");
    form.innerHTML = '<input autocomplete="one-time-code">';
    document.body.append(form);
    let sent = null;
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        sent = form.elements[0].value;
    });
    form.elements[0].value = typed;
    form.elements[0].dispatchEvent(new InputEvent("input", {bubbles: true}));
    form.remove();
    return sent;
}"""


def run(page, name, body):
    """What a function of one of the page's modules makes."""
    return page.evaluate(
        f"async ([name]) => {{ const own = await {MODULE}; return {body}; }}", [name]
    )


def test_script_follows_links_to_own_pages_and_leaves_others_to_the_browser(site):
    page = site.tab("/login")
    others = [
        {"href": "http://else.test/"},
        {"href": "/signup#main"},
        {"target": "_blank"},
        {"leave": True},
    ]

    assert [page.evaluate(FOLLOWED, [other, {}]) for other in others] == [False] * 4
    for key in ("ctrlKey", "metaKey", "shiftKey"):
        assert page.evaluate(FOLLOWED, [{}, {key: True}]) is False
    assert page.evaluate(FOLLOWED, [{}, {}]) is True
    page.wait_for_url("**/signup")


def answer_by_another_release(route):
    answer = route.fetch()
    route.fulfill(response=answer, body=re.sub("/static/[0-9a-f]{12}/", OTHER, answer.text()))


def test_page_of_another_release_is_loaded_with_its_own_scripts(site_of_ada):
    """The session goes on, and so does what is said after the visit."""
    page = site_of_ada.account()
    page.evaluate("window.isFormerDocument = true")

    page.route("**/people", answer_by_another_release)
    page.get_by_role("link", name="Company", exact=True).click()
    page.get_by_role("cell", name="ada@example.com").first.wait_for()

    assert page.evaluate("window.isFormerDocument") is None
    assert OTHER in page.locator("script[type=module]").get_attribute("src")
    page.go_back()
    made(page, "Your account")
    page.get_by_role("button", name="Sign out", exact=True).click()
    says(page, "You're signed out.")


def test_sign_in_on_a_page_of_another_release_leads_back(people):
    people.route("**/login", answer_by_another_release)
    people.context.clear_cookies()
    people.reload()
    says(people, "Your session has ended. Sign in again.")
    assert OTHER in people.locator("script[type=module]").get_attribute("src")
    assert people.locator("#status").get_attribute("data-kind") == "wait"

    fill(people, email="ada@example.com", password=PASSWORD)

    made(people, "Company")
    people.goto("/login")  # the next one begins anew
    made(people, "Your account")


def test_text_for_the_next_document_is_read_by_release_3_1_and_from_it(site):
    page = site.tab("/login")
    run(page, "screen", "own.announceNext(own.say('signed out'), 'wait')")
    assert page.evaluate("sessionStorage.getItem('said')") == "You're signed out."
    page.reload()
    says(page, "You're signed out.")
    assert page.locator("#status").get_attribute("data-kind") == "wait"

    run(page, "screen", "own.announceNext(own.say('signed out'))")
    page.evaluate("sessionStorage.setItem('said', 'Saved.')")
    page.reload()

    says(page, "Saved.")


def test_page_without_the_scripts_is_loaded_as_a_document(site):
    page = site.tab("/login")
    page.route(
        "**/signup",
        lambda route: route.fulfill(
            status=503, content_type="text/html", body="<main><h1>Back soon</h1></main>"
        ),
    )

    page.locator("main [href='/signup']").click()

    heading(page, "Back soon")
    assert page.url.endswith("/signup")
    assert page.locator("#status").count() == 0


def test_path_that_begins_with_two_slashes_leads_to_no_other_host(site):
    page = site.tab("/login")
    page.route(
        "**/evil.test/login",
        lambda route: route.fulfill(response=route.fetch(url=f"{site.url}/login")),
    )
    run(page, "navigation", "own.visit('//evil.test/login')")

    assert page.url == f"{site.url}/evil.test/login"
    run(page, "navigation", "void own.goOn({settings: {language: 'sv'}}, '//evil.test/login')")
    page.locator("html[lang=sv]").wait_for(state="attached")
    assert page.url == f"{site.url}/evil.test/login"


def test_page_that_was_asked_for_last_is_shown(site):
    page = site.tab("/login")
    late = hold(page, "**/signup")
    page.locator("main [href='/signup']").click()
    page.locator("main [href='/forgot-password']").click()
    heading(page, "Reset your password")
    with page.expect_response("**/signup"):
        first_of(page, late).continue_()

    settled(page)
    heading(page, "Reset your password")
    assert page.url.endswith("/forgot-password")


@pytest.mark.parametrize("status", [None, 503])
def test_page_stays_when_the_next_one_does_not_come(site, status):
    page = site.tab("/login")
    page.route(
        "**/signup",
        lambda route: route.fulfill(status=status, json={}) if status else route.abort(),
    )
    page.locator("main [href='/signup']").click()

    says(page, "We can't reach the service.")
    heading(page, "Sign in")
    assert page.url.endswith("/login")


def test_back_button_asks_for_a_page_and_ends_a_question_but_a_fragment_does_neither(page, bob):
    entries = page.evaluate("history.length")
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.evaluate("location.hash = '#main'")
    page.wait_for_timeout(300)
    assert "/profile" not in asked
    page.get_by_role("link", name="Company", exact=True).click()
    heading(page, "Company")
    page.get_by_label("Actions for Bob Boole").click()
    page.get_by_role("button", name="Deactivate").click()
    page.locator("#confirm[open]").wait_for()

    page.go_back()

    heading(page, "Your account")
    assert not page.locator("#confirm").is_visible()
    assert page.evaluate("history.length") == entries + 2
    page.evaluate("location.hash = '#security'")  # is no tab of this page
    page.wait_for_timeout(300)
    assert page.locator("#status").inner_text() == ""
    assert page.title().startswith("Your account · ")


def test_log_in_leaves_no_entry_in_the_history(site_of_ada):
    page = site_of_ada.tab("/login")
    entries = page.evaluate("history.length")

    fill(page, email="ada@example.com", password=PASSWORD)
    heading(page, "Your account")

    assert page.evaluate("history.length") == entries


def test_error_of_a_page_that_was_left_is_not_said(page):
    held = hold(page, "**/auth/me/data")
    page.get_by_role("button", name="Download", exact=True).click()
    page.get_by_role("link", name="Company", exact=True).click()
    made(page, "Company")

    first_of(page, held).abort()

    settled(page)
    assert page.locator("#status").inner_text() == ""


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (403, {}, "Something went wrong on our side."),
        (413, {"error": "request too large"}, "Check what you've entered."),
        (413, {}, "Check what you've entered."),
        (409, {"error": "already invited"}, "This person has already been invited."),
    ],
)
def test_answer_is_said_in_the_pages_own_words(site, status, error, text):
    """Also those of a proxy, which may be no JSON."""
    page = site.tab("/login")
    answer = json.dumps(error) if error else "<html>"
    page.route("**/auth/login", lambda route: route.fulfill(status=status, body=answer))

    fill(page, email="ada@example.com", password=PASSWORD)

    says(page, text)


def test_refused_call_tells_that_the_role_has_changed(people):
    people.site.query("UPDATE accounts_user SET role = 'admin' WHERE first_name = 'Bob'")
    people.site.query("UPDATE accounts_user SET role = 'member' WHERE first_name = 'Ada'")

    people.get_by_label("Search by name or e-mail").first.fill("bob")

    says(people, "Your role was changed.")
    heading(people, "Your account")


def test_page_of_the_former_user_is_made_anew_for_another(page, bob):
    log_in = f"async ([name, body]) => (await {MODULE}).client.send('POST', '/auth/login', body)"
    sign_in = f"async ([name, answer]) => (await {MODULE}).client.signIn(answer)"
    page.get_by_text("Ada Lovelace").first.wait_for()
    other = page.context.new_page()
    other.goto("/profile")
    made(other, "Your account")

    answer = other.evaluate(
        log_in, ["navigation", {"email": "bob@example.com", "password": PASSWORD}]
    )
    other.evaluate(sign_in, ["navigation", answer])

    page.get_by_text("Bob Boole").first.wait_for()
    assert page.get_by_text("Ada Lovelace").count() == 0


def test_initials_are_of_whole_characters(people):
    names = ["Ada Lovelace", "Ada", "ö", "🦊 Fox"]

    def rename(route):
        body = route.fetch().json()
        item = body["items"][0] | {"last_name": ""}
        body["items"] = [item | {"first_name": name} for name in names]
        body["items"].append(item | {"first_name": "", "email": "ada@example.com"})
        route.fulfill(json=body | {"total": len(body["items"])})

    people.route("**/users?*", rename)
    open_tab(people, "invitations")
    open_tab(people, "everyone")
    people.get_by_label("Search by name or e-mail").first.fill("a")
    until(people, "document.querySelectorAll('#people [data-initials]').length === 5")

    initials = people.locator("#people [data-initials]").all_inner_texts()
    assert initials == ["AL", "AD", "Ö", "🦊F", "AC"]


def test_six_digits_send_themselves_however_they_are_grouped(site):
    page = site.tab("/login")
    page.locator("main fieldset:enabled").first.wait_for()  # all scripts listen
    for typed in ("123456", "123 456", "123-456"):
        assert page.evaluate(SENT, typed) == "123456"
    for typed in ("12345", "1234567", "ABCD-EFGH"):
        assert page.evaluate(SENT, typed) is None
