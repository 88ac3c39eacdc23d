"""The back office in a browser: usable by keyboard, without barriers, on any screen."""

import json
import subprocess
import sys

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.urls import reverse

from accounts.models import Account, User
from tests.browser.conftest import fill, heading
from tests.browser.helpers import BROKEN, add_app, enter, operator, see
from tests.cast import PASSWORD
from tests.requests import ask

pytestmark = pytest.mark.browser

BOSS = RequestFactory().get("/")
BOSS.user = User(is_superuser=True, is_staff=True)
# Django's scripts make these boxes when the page has come, and ours names them after that.
NAMED = """() => !document.querySelector("span.help-tooltip[aria-label]:not([role])") &&
    document.querySelectorAll(".admin-autocomplete").length ===
    document.querySelectorAll(".select2-selection[aria-labelledby*=_label]").length"""
PICTURED = {"accounts.User", "invitations.Invitation", "audit.AuditEvent", "mail.OutgoingMail"}


@pytest.fixture
def rows(site_of_ada):
    """A key of each model's, by its label; Ada is a superuser besides them."""
    command = [sys.executable, "-m", "tests.browser.rows"]
    done = subprocess.run(
        command, env=site_of_ada.service.environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def pages(model, key):
    """The pages of a model that a superuser may open, by name and address; what is drawn alike for
    each model is shown for one."""
    site, name = admin.site.get_model_admin(model), model._meta.label_lower.replace(".", "_")
    yield "list", reverse(f"admin:{name}_changelist")
    yield "change", reverse(f"admin:{name}_change", args=[key])
    if site.has_add_permission(BOSS):
        yield "add", reverse(f"admin:{name}_add")
    if model is Account:
        yield "found", reverse(f"admin:{name}_changelist") + "?q=nothing+at+all"
        yield "history", reverse(f"admin:{name}_history", args=[key])
    if site.has_delete_permission(BOSS):
        yield "delete", reverse(f"admin:{name}_delete", args=[key])


def person(rows):
    return f"/admin/accounts/user/{rows['accounts.User']}/change/"


def test_every_page_of_every_model(site_of_ada, rows):
    page, found = operator(site_of_ada), {}
    assert rows.keys() == {model._meta.label for model in admin.site._registry}
    for model in admin.site._registry:
        label = model._meta.label
        for what, address in pages(model, rows[label]):
            page.goto(address)
            page.locator("h1").wait_for()
            page.wait_for_function(NAMED)
            wanted = label in PICTURED and what in {"list", "change"}
            shot = f"admin-{label.lower().replace('.', '-')}-{what}" if wanted else ""
            found[f"{label} {what}"] = see(page, shot)

    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_pages_of_no_model(site_of_ada, rows):
    page = site_of_ada.tab("/admin/")
    found = {"log-in": see(page, "admin-log-in")}
    enter(page)
    page.get_by_role("heading", name="Back office").wait_for()
    found["index"] = see(page, "admin-index")
    page.goto("/admin/accounts/")
    found["app"] = see(page, "admin-app")
    page.goto("/admin/?q=bob%40example.com")
    found["search"] = see(page, "admin-search")
    page.goto("/admin/audit/record/?p=2")
    page.locator(".this-page").wait_for()
    found["page numbers"] = see(page, "admin-numbers")
    for press, title in {"Deactivate…": "Deactivate?", "Erase…": "Erase Bob Boole?"}.items():
        page.goto(person(rows))
        page.get_by_role("button", name=press).click()
        page.get_by_role("heading", name=title).wait_for()
        found[press] = see(page, f"admin-{press[:-1].lower()}")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Unlock").click()
    page.locator(".messagelist").wait_for()
    found["done"] = see(page, "admin-done")

    assert not any(found.values()), found


def test_lists_have_one_line_a_row_and_whole_addresses(site_of_ada, rows):
    """Also the widest: the log, with addresses, networks and browsers."""
    page = operator(site_of_ada)
    heights = "rows => rows.map(row => row.getBoundingClientRect().height)"
    for model in ("audit/record", "accounts/user", "mail/outgoingmail", "assistants/client"):
        page.goto(f"/admin/{model}/")
        assert max(page.locator("#result_list tbody tr").evaluate_all(heights)) < 45, model

    page.goto("/admin/audit/record/")
    assert page.locator(".field-client_claim", has_text="Chrome on Linux").count()
    cut = page.locator("#result_list .field-subject").evaluate_all(
        "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).length"
    )
    assert cut == 0


def test_states_are_coloured_and_a_user_is_invited(site_of_ada, rows):
    page = operator(site_of_ada)

    def colour(path, text):
        page.goto(f"/admin/{path}/")
        return page.locator(".badge", has_text=text).first.get_attribute("data-kind")

    assert colour("throttling/lockout", "Locked") == "bad"
    assert colour("mail/outgoingmail", "Refused for good") == "bad"
    assert colour("invitations/invitation", "Pending") == "wait"
    assert colour("keys/signingkey", "Signing") == "good"
    assert page.locator(".field-age", has_text="minute").count() == 1
    page.goto("/admin/accounts/user/")
    page.get_by_role("link", name="Invite a user").click()
    page.get_by_role("heading", name="Add invitation").wait_for()


def test_password_is_shown_on_the_sign_in_form(site_of_ada):
    page = site_of_ada.tab("/admin/login/")
    field = page.locator("[name=password]")
    field.fill("a secret")
    page.get_by_role("button", name="Show password").click()
    assert field.get_attribute("type") == "text"
    assert see(page, "admin-log-in-shown") == []
    enter(page)
    page.get_by_role("heading", name="Back office").wait_for()


def test_list_of_users_has_whole_words_named_searches_and_links_to_hit(site_of_ada, rows):
    site_of_ada.query("UPDATE accounts_user SET is_active = false WHERE first_name = 'Bob'")
    page = operator(site_of_ada)
    page.goto("/admin/accounts/user/")
    page.locator("#result_list", has_text="deactivated").wait_for()

    broken = set(page.evaluate(BROKEN))
    assert broken & {"member", "Member", "admin", "Admin", "active", "deactivated", "role"} == set()
    named = page.get_by_role("search").evaluate_all("them => them.map(it => it.ariaLabel)")
    assert named == ["Back office", "This list"]
    heights = "them => them.map(it => it.getBoundingClientRect().height)"
    assert min(page.locator("#changelist-filter li a").evaluate_all(heights)) >= 24
    assert page.locator("link[rel=icon]").get_attribute("href").endswith(".svg")


def test_header_fits(site_of_ada):
    page = operator(site_of_ada)
    header, title = page.locator("#header"), page.locator("h1")
    for width in (320, 768, 1024, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        inside = header.evaluate(
            """it => [...it.querySelectorAll("a, button, input, span:not(.visually-hidden)")].every((part) => {
                const [mine, its] = [part.getBoundingClientRect(), it.getBoundingClientRect()];
                return mine.right <= its.right && mine.bottom <= its.bottom;
            })"""  # noqa: E501
        )
        box = header.bounding_box()

        assert inside, width
        assert box["y"] + box["height"] <= title.bounding_box()["y"], width


FIELDS = "#content form:not(#changelist-search) :is(input[type=text], input[type=email])"


@pytest.mark.parametrize("label", ["accounts.User", "accounts.Account", "accounts.Consultant"])
def test_enter_in_each_field_saves(site_of_ada, rows, label):
    page, mails = operator(site_of_ada), "SELECT count(*) FROM mail_outgoingmail"
    address = f"/admin/{label.lower().replace('.', '/')}/{rows[label]}/change/"
    before = site_of_ada.query(mails)
    page.goto(address)
    fields = page.locator(FIELDS).evaluate_all("them => them.map(it => it.name)")

    assert fields
    for number, name in enumerate(fields):
        page.goto(address)
        field = page.locator(f"{FIELDS}[name={name}]")
        value = "Europe/Berlin" if name == "time_zone" else f"Changed {number}"
        if name != "email":
            field.fill(value)
        field.press("Enter")
        page.locator(".messagelist .success", has_text="changed successfully").wait_for()
        page.goto(address)
        if name != "email":
            assert page.locator(f"{FIELDS}[name={name}]").input_value() == value
    assert site_of_ada.query(mails) == before


def test_enter_in_the_erase_box_erases_nothing_unless_the_address_is_typed(site_of_ada, rows):
    page = operator(site_of_ada)
    for typed, said in [("bob", "Nothing was erased"), ("bob@example.com", "Deleted")]:
        page.goto(person(rows))
        page.get_by_role("button", name="Erase…").click()
        page.locator("[name=confirmed]").fill(typed)
        page.keyboard.press("Enter")
        page.locator(".messagelist", has_text=said).wait_for(timeout=20_000)


def test_slash_focuses_the_search_and_finds_a_caller_who_is_helped(site_of_ada, rows):
    page = operator(site_of_ada)
    page.keyboard.press("/")
    page.keyboard.type("Bob@Example.com")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="bob@example.com").first.click()
    page.get_by_role("heading", name="Bob Boole").wait_for()
    page.locator('.finding[data-state="bad"]', has_text="Locked until").wait_for()
    page.locator(".finding button", has_text="Unlock").click()

    page.get_by_text("Bob Boole can sign in again.").wait_for()
    assert "Locked until" not in page.locator(".finding").inner_text()
    assert page.get_by_role("button", name="Unlock").count() == 0


def test_one_action_is_filled_and_the_others_are_quiet(site_of_ada, rows):
    page = operator(site_of_ada)
    page.goto(person(rows))
    colour = "them => them.map(it => getComputedStyle(it).backgroundColor)"
    actions = page.locator("[form=act]").evaluate_all(colour)

    assert actions.count("rgb(15, 107, 98)") == 1
    assert set(actions) == {"rgb(15, 107, 98)", "rgb(255, 255, 255)"}
    page.get_by_role("button", name="Deactivate…").click()
    danger = page.locator("button.danger")
    danger.wait_for()
    page.wait_for_load_state()  # its styles are there
    assert danger.evaluate_all(colour) == ["rgb(179, 38, 30)"]
    danger.click()
    page.get_by_text("Deactivated Bob Boole and ended all sessions.").wait_for()
    page.locator(".finding button", has_text="Activate").wait_for()


def act(page, where, row, action):
    """Choose the row that shows these words, take the action, and give what the site says."""
    page.goto(f"/admin/{where}/")
    page.locator("#result_list tbody tr", has_text=row).locator("input.action-select").check()
    page.locator("select[name=action]").select_option(label=action)
    page.locator("button[name=index]").click()
    page.locator(".messagelist, button.danger").first.wait_for()
    if page.locator("button.danger").count():
        page.locator("button.danger").click()
    return str(page.locator(".messagelist").inner_text())


def test_operator_helps_and_the_audit_log_tells(site_of_ada):
    site = site_of_ada
    site.guess("bob@example.com")
    bearer = site.service.bearer()
    page = operator(site)

    page.goto("/admin/accounts/user/")
    page.locator(".object-tools a").click()  # to add a user is to invite
    page.locator(".field-account .select2-selection").click()
    page.locator(".select2-search__field").fill("Operators")
    page.locator(".select2-results__option", has_text="Operators").click()
    page.locator("[name=email]").fill("bob@example.com")
    page.locator("[name=_save]").click()
    assert "bob@example.com" in page.locator(".messagelist").inner_text()
    said = act(page, "throttling/lockout", "bob@example.com", "Unlock")
    assert "bob@example.com can sign in again." in said
    said = act(page, "invitations/invitation", "bob@example.com", "Send again")
    assert "bob@example.com will be sent again" in said
    assert "out everywhere" in act(page, "accounts/user", "ada@example.com", "Sign out everywhere")

    assert ask(site.service.url, "GET", "/auth/me", **bearer).status == 401
    page.goto("/admin/audit/record/")
    enter(page)  # the operator's own session has ended, too
    shown = page.locator("#result_list").inner_text()
    told = ["lockout ended", "invitation sent", "invitation sent again", "signed out everywhere"]
    assert [words for words in told if words not in shown] == []


def test_pages_of_the_log_in(new_site):
    site = new_site(STAFF_SECOND_FACTOR="true", RATE_LIMIT_CREDENTIAL="1000")
    site.operator()
    page = site.tab("/admin/")
    page.get_by_role("button", name="Use a passkey").wait_for()
    forgot = page.get_by_role("link", name="Forgot?").get_attribute("href")
    assert forgot.endswith("/forgot-password")
    enter(page)
    page.get_by_text("The back office requires a second factor.").wait_for()
    found = {"set up": see(page, "admin-set-up")}
    page.get_by_role("link", name="Set one up").click()
    heading(page, "Sign in")
    fill(page, email="ada@example.com", password=PASSWORD)
    heading(page, "Your account")
    _, codes = add_app(page)
    page.goto("/admin/")
    enter(page)
    page.get_by_role("heading", name="Two-factor authentication").wait_for()
    found["second factor"] = see(page, "admin-second-factor")
    page.locator("[name=code]").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign out").wait_for(state="detached")
    page.locator("h1").wait_for()
    found["logged out"] = see(page, "admin-logged-out")
    for _ in range(6):
        page.goto("/admin/login/")
        page.locator("[name=username]").fill("ada@example.com")
        page.locator("[name=password]").fill("wrong guess")
        with page.expect_navigation():
            page.keyboard.press("Enter")
    found["refused"] = see(page, "admin-refused")

    assert "Too many attempts" in page.locator("h1").inner_text()
    assert not any(found.values()), found
