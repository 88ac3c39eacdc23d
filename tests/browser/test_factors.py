"""Second factors on the pages, with Chromium's virtual authenticator and a computed app."""

import re

import pytest

from tests.browser.conftest import act, confirm, fill, heading, press, says, until
from tests.browser.helpers import (
    Key,
    add_app,
    add_passkey,
    code,
    keep_codes,
    leave,
    prove,
    prove_by_recovery_code,
    read_codes,
)
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser


SENTENCE = "Passkeys aren't available here"


def leave_and_come_back(page):
    leave(page)
    fill(page, password=PASSWORD)  # the address is known


def test_passkey_is_added_and_signs_in_by_the_button(page):
    key = add_passkey(page)
    assert len(key.credentials()) == 1
    key.leave_unseen(leave)

    press(page, "Use a passkey")

    heading(page, "Your account")
    assert page.evaluate("asked") == ["conditional", "ended", "optional"]
    page.get_by_text(re.compile("^Last used on")).wait_for()  # not a device's


def test_passkey_signs_in_by_autofill(page):
    key = add_passkey(page)

    press(page, "Sign out")  # the log-in page may be gone before it is seen

    page.locator("#factors", has_text="Last used on").wait_for()
    heading(page, "Your account")
    assert key.credentials()[0]["signCount"] > 1


def at_the_second_step(page):
    """Ada with a passkey, after the password; her passkey."""
    key = add_passkey(page)
    key.leave_unseen(leave)
    fill(page, password=PASSWORD)
    page.get_by_text("Use a recovery code").wait_for()
    return key


def test_passkey_is_shown_beside_the_password(page):
    at_the_second_step(page)

    press(page, "Use a passkey")

    heading(page, "Your account")


def test_passkey_that_is_declined_leaves_the_other_ways(page):
    key = at_the_second_step(page)
    key.session.send("WebAuthn.setUserVerified", key.own | {"isUserVerified": False})

    press(page, "Use a passkey")

    says(page, "No passkey was used.")
    press(page, "Use a recovery code")
    page.get_by_label("Recovery code").wait_for()


def test_removed_passkey_signs_nobody_in(page):
    key = add_passkey(page)
    act(page, "Passkey", "Remove", asks="Remove Passkey?")
    prove(page)
    press(page, "Use a passkey")
    says(page, "Passkey was removed.")
    page.get_by_text("Not set up yet.").wait_for()
    key.leave_unseen(leave)

    press(page, "Use a passkey")

    says(page, "That passkey wasn't accepted.")
    fill(page, password=PASSWORD)
    heading(page, "Your account")


def test_passkey_is_named(page):
    add_passkey(page)
    act(page, "Passkey", "Rename")

    page.locator("#name").fill("Ada's telephone")
    page.keyboard.press("Enter")

    says(page, "Saved.")
    page.locator("#factors").get_by_text("Ada's telephone").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H2"
    assert page.locator("[data-protection]").inner_text() == "Your account is well protected."


def test_app_is_asked_for_and_six_digits_send_themselves(page):
    secret, _ = add_app(page)
    leave(page)
    page.locator("[name=password]:focus").press_sequentially(PASSWORD)
    page.keyboard.press("Enter")
    page.locator("#proof-code:focus").wait_for()
    assert page.locator("#proof-code").get_attribute("inputmode") == "numeric"
    assert page.locator("#proof-code").get_attribute("autocomplete") == "one-time-code"

    six = code(secret, 1)
    page.keyboard.insert_text(f"{six[:3]} {six[3:]}")  # pasted, as some apps copy it

    heading(page, "Your account")


def test_second_step_says_for_whom_it_is_and_what_is_wrong(page):
    secret, _ = add_app(page)
    leave_and_come_back(page)
    heading(page, "Two-factor authentication")
    page.get_by_text("Signing in as ada@example.com").wait_for()
    page.locator("#proof-code").fill(page.used)
    page.locator(".card #status", has_text="That code was already used").wait_for()
    page.locator("#proof-code:focus").wait_for()
    for steps, text in {-5: "That code is too old", 3: "Wrong code."}.items():
        page.locator("#proof-code").fill(code(secret, steps))
        says(page, text)
    press(page, "Use a recovery code")
    fill(page, code="AAAA-BBBB")
    says(page, "That recovery code isn't right")

    press(page, "Not you?")

    heading(page, "Sign in")
    page.locator("[name=email]:focus").wait_for()
    assert page.locator("[name=email]").input_value() == ""
    assert not page.get_by_text("That recovery code isn't right").is_visible()


def test_recovery_code_signs_in_and_is_counted(page):
    _, codes = add_app(page)
    assert len(set(codes)) == 10
    page.get_by_text("Recovery codes left: 10").wait_for()
    leave_and_come_back(page)
    press(page, "Use a recovery code")

    fill(page, code=codes[0].lower())

    heading(page, "Your account")
    page.get_by_text("Recovery codes left: 9").wait_for()


def test_new_recovery_codes_are_copied_downloaded_and_printed(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _, old = add_app(page)
    press(page, "New recovery codes")
    prove_by_recovery_code(page, old[0])
    codes = read_codes(page)
    assert not set(codes) & set(old)

    press(page, "Copy")
    says(page, "Copied.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    page.evaluate("addEventListener('beforeprint', () => (window.printed = true))")
    press(page, "Print")

    assert codes == page.evaluate("navigator.clipboard.readText()").split()[-10:]
    saved = download.value.path().read_text()
    assert codes == saved.split()[-10:]
    assert "Consulting management · ada@example.com" in saved
    until(page, "window.printed")
    page.emulate_media(media="print")
    assert page.locator(".codes").is_visible()
    assert not page.locator("header").is_visible()
    assert not page.get_by_role("heading", name="Sign-in and security").is_visible()
    assert page.locator("main button:visible, main a:visible").count() == 0


def test_recovery_codes_stay_whole_and_are_not_left_unasked(page):
    _, old = add_app(page)
    press(page, "New recovery codes")
    prove_by_recovery_code(page, old[0])
    read_codes(page)
    for width in (320, 390):
        page.set_viewport_size({"width": width, "height": 640})
        heights = [code.bounding_box()["height"] for code in page.locator(".codes li").all()]
        assert max(heights) < 30
    questions = []

    def stay(dialog):
        questions.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    with page.expect_event("dialog"):
        page.evaluate("setTimeout(() => location.reload())")
    assert (questions, len(read_codes(page))) == (["beforeunload"], 10)
    press(page, "I've saved my codes")
    page.reload()
    heading(page, "Your account")
    assert questions == ["beforeunload"]


def test_wrong_password_and_cancel_change_nothing(page):
    press(page, "Add an authenticator app")
    prove(page, password="wrong guess")
    says(page, "Incorrect password.")
    assert page.locator("dialog #status").is_visible()

    press(page, "Cancel")

    page.get_by_text("Not set up yet.").wait_for()
    until(page, 'document.querySelector("#proof-password").value === ""')
    page.locator("[data-set-up=app]:focus").wait_for()
    page.keyboard.press("Enter")
    page.locator("#proof-password:focus").wait_for()
    page.keyboard.press("Escape")
    page.locator("[data-set-up=app]:focus").wait_for()
    press(page, "Add a passkey")
    page.locator("#proof-password:focus").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")
    assert "Only your password" in page.locator("[data-protection]").inner_text()


def test_mailed_link_alone_does_not_suffice(site_of_ada, page):
    secret, _ = add_app(page)
    page = site_of_ada.password_page()
    heading(page, "Choose a new password")
    fill(page, password="another fine password")

    page.locator("#proof-code").fill(code(secret, 1))

    heading(page, "Your account")
    says(page, "Password changed.")


def test_address_without_a_name_has_a_sentence_in_place_of_passkeys(site_of_ada):
    site_of_ada.url = site_of_ada.service.url  # by its IP address
    page = site_of_ada.tab("/login")

    page.locator("p:visible", has_text=SENTENCE).wait_for()

    assert page.get_by_role("button", name="Use a passkey").count() == 0
    fill(page, email="ada@example.com", password=PASSWORD)
    page.get_by_role("button", name="Add an authenticator app").wait_for()
    page.locator("p:visible", has_text=SENTENCE).wait_for()
    assert page.locator("[data-set-up=passkey]").count() == 0


# ---- Companies ----


def require(page):
    """Ada requires a second factor of her company."""
    page.goto("/people#settings")
    press(page, "Require for everyone")
    confirm(page, "Require two-factor authentication for everyone?")


def test_company_requires_one_and_a_member_sets_it_up(site_of_ada, bob, page):
    add_app(page)
    other = site_of_ada.account("bob@example.com")
    require(page)
    page.get_by_text("Two-factor authentication is required for everyone.").wait_for()
    other.reload()
    heading(other, "Sign in")

    fill(other, email="bob@example.com", password=PASSWORD)
    heading(other, "Set up two-factor authentication")
    Key(other)
    press(other, "Passkey")
    keep_codes(other)

    heading(other, "Your account")
    other.get_by_text("Your company requires it.").wait_for()
    other.locator("#factors").get_by_text("Passkey").first.wait_for()


def test_member_sets_an_app_up_at_the_log_in(site_of_ada, bob, page):
    add_app(page)
    require(page)
    says(page, "Saved.")
    other = site_of_ada.tab("/login")
    fill(other, email="bob@example.com", password=PASSWORD)
    press(other, "Authenticator app")
    other.get_by_role("img", name="QR code").wait_for()

    other.locator("#app-code").fill(code(other.locator("[data-secret]").inner_text()))

    keep_codes(other)
    heading(other, "Your account")
    says(other, "Welcome! You're signed in.")


def test_set_up_page_needs_a_log_in(site_of_ada):
    page = site_of_ada.tab("/second-factor")

    heading(page, "Sign in")


def test_admin_without_a_factor_is_told_before_the_question(page):
    page.goto("/people#settings")
    press(page, "Require for everyone")

    says(page, "Set up two-factor authentication for your own account first")
    page.get_by_text("Two-factor authentication is optional.").wait_for()
    assert not page.get_by_role("dialog").is_visible()
    page.get_by_role("link", name="Set it up now").click()
    heading(page, "Your account")


def test_admin_sees_who_has_no_factor_and_resets_a_colleague(site_of_ada, bob, page):
    other = site_of_ada.account("bob@example.com")
    add_app(other)
    page.goto("/people#settings")
    page.get_by_role("link", name="Show who hasn't set it up").click()
    page.locator("#people").get_by_text("Ada Lovelace").wait_for()
    assert page.locator("#people tr", has_text="Bob Boole").count() == 0
    page.get_by_label("Two-factor authentication").select_option("")

    reset = "Reset two-factor authentication"
    act(page, "Bob Boole", reset, asks=f"{reset} for Bob Boole?")

    says(page, "Two-factor authentication was reset for Bob Boole.")
    page.locator("[data-text=without_factor]", has_text="2").wait_for()
    other.reload()
    heading(other, "Sign in")
