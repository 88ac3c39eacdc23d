"""Every page of the back office: no barrier that axe-core finds, and no word that breaks."""

import base64
import json
import subprocess
import sys

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext

from accounts.models import User
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.rows import LONG
from tests.browser.test_admin import enter
from tests.browser.test_pages import look, violations
from tests.signin.factors.conftest import code

pytestmark = pytest.mark.browser

BOSS = RequestFactory().get("/")
BOSS.user = User(is_superuser=True, is_staff=True)
# Django's scripts make these boxes when the page has come, and ours names them after that.
NAMED = """() => !document.querySelector("span.help-tooltip[aria-label]:not([role])") &&
    document.querySelectorAll(".admin-autocomplete").length ===
    document.querySelectorAll(".select2-selection[aria-labelledby*=_label]").length"""
LANGUAGES = pytest.mark.parametrize("language", ["en", "de", "sv"])
PICTURED = {"accounts.User", "throttling.Lockout", "audit.Record", "mail.OutgoingMail"}


@pytest.fixture
def rows(site_of_ada):
    """A key of each model's, by its label; Ada is a superuser beside them."""
    command = [sys.executable, "-m", "tests.browser.rows"]
    done = subprocess.run(
        command, env=site_of_ada.service.environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def pages(model, key):
    """Each page of a model that a superuser may open: its name and its address."""
    site, name = admin.site.get_model_admin(model), model._meta.label_lower.replace(".", "_")
    yield "list", reverse(f"admin:{name}_changelist")
    yield "found", reverse(f"admin:{name}_changelist") + "?q=nothing+at+all"
    yield "change", reverse(f"admin:{name}_change", args=[key])
    yield "history", reverse(f"admin:{name}_history", args=[key])
    if site.has_add_permission(BOSS):
        yield "add", reverse(f"admin:{name}_add")
    if site.has_delete_permission(BOSS):
        yield "delete", reverse(f"admin:{name}_delete", args=[key])


def operator(site, **options):
    page = site.tab("/admin/", **options)
    enter(page)
    page.locator("form.search").wait_for()
    return page


def said(language, text, **facts):
    with translation.override(language):
        return gettext(text) % facts


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_every_model(site_of_ada, rows, scheme):
    page = operator(site_of_ada, viewport=DESKTOP, color_scheme=scheme)
    assert rows.keys() == {model._meta.label for model in admin.site._registry}
    found = {}
    for model in admin.site._registry:
        label = model._meta.label
        for what, address in pages(model, rows[label]):
            page.goto(address)
            page.locator("h1").wait_for()
            page.wait_for_function(NAMED)
            shot = f"admin-{label.lower().replace('.', '-')}-{what}-desktop-{scheme}"
            wanted = label in PICTURED and what in {"list", "change"}
            found[f"{label} {what}"] = look(page, shot) if wanted else violations(page)

    assert not any(found.values()), {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "viewport"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_pages_of_no_model(site_of_ada, rows, device, viewport, scheme):
    page = site_of_ada.tab("/admin/", viewport=viewport, color_scheme=scheme)
    kind = f"{device}-{scheme}"
    found = {"log-in": look(page, f"admin-log-in-{kind}")}
    enter(page)
    page.get_by_role("heading", name="Back office").wait_for()
    found["index"] = look(page, f"admin-index-{kind}")
    for app in ("accounts", "audit"):
        page.goto(f"/admin/{app}/")
        found[app] = look(page, f"admin-app-{kind}")
    page.goto("/admin/?q=bob%40example.com")
    found["search"] = look(page, f"admin-search-{kind}")
    page.goto(f"/admin/accounts/user/{rows['accounts.User']}/change/")
    found["person"] = look(page, f"admin-person-{kind}")
    page.get_by_role("button", name="Deactivate").click()
    page.get_by_role("heading", name="Deactivate?").wait_for()
    found["question"] = look(page, f"admin-question-{kind}")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Unlock").click()
    page.locator(".messagelist").wait_for()
    found["done"] = look(page, f"admin-done-{kind}")
    for where in ("accounts/user", "audit/record"):
        page.goto(f"/admin/{where}/")
        found[where] = look(page, f"admin-{where.replace('/', '-')}-{kind}")

    assert not any(found.values()), found


@LANGUAGES
@pytest.mark.parametrize("width", [320, 768, 1024, 1280, 1920])
def test_header_fits(site_of_ada, width, language):
    page = operator(site_of_ada, viewport={"width": width, "height": 800}, locale=language)
    header, title = page.locator("#header"), page.locator("h1")
    inside = header.evaluate(
        """it => [...it.querySelectorAll("a, button, span")].every((part) => {
            const [mine, its] = [part.getBoundingClientRect(), it.getBoundingClientRect()];
            return mine.right <= its.right && mine.bottom <= its.bottom;
        })"""
    )

    assert inside
    assert header.bounding_box()["y"] + header.bounding_box()["height"] <= title.bounding_box()["y"]


def test_field_for_a_search_has_room_on_a_phone(site_of_ada):
    page = operator(site_of_ada, viewport=PHONE)
    page.goto("/admin/accounts/user/")

    assert page.locator("#searchbar").bounding_box()["width"] > 160


# A range of a word's characters is of one line alone where the word does not break.
CELLS = ":is(#result_list, .panel, .dashboard .module) :is(td, th)"
BROKEN = """(cells) => [...document.querySelectorAll(cells)].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[\\p{L}0-9]+/gu)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) found.push(word[0]);
  }
  return found;
})"""


@LANGUAGES
def test_no_word_of_a_list_breaks(site_of_ada, rows, language):
    page = operator(site_of_ada, locale=language)
    found = {}
    for model in admin.site._registry:
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(next(pages(model, rows[model._meta.label]))[1])
            found[f"{model._meta.label} {width}"] = page.evaluate(BROKEN, CELLS)

    for address in ("/admin/", f"/admin/accounts/user/{rows['accounts.User']}/change/"):
        page.set_viewport_size({"width": 320, "height": 800})
        page.goto(address)
        found[address] = page.evaluate(BROKEN, CELLS)

    assert not any(found.values()), found
    page.goto("/admin/accounts/user/")
    assert page.get_by_text(LONG).count() == 1


@LANGUAGES
def test_what_hurts_is_red_and_apart(site_of_ada, rows, language):
    page = operator(site_of_ada, locale=language)
    page.goto(f"/admin/accounts/user/{rows['accounts.User']}/change/")
    colour = "it => getComputedStyle(it).backgroundColor"
    action = said(language, "Deactivate: no sign-in, tokens stop")
    danger = page.get_by_role("button", name=action)
    unlock = page.get_by_text(said(language, "Unlock: let them sign in again"))

    assert danger.evaluate(colour) == "rgb(179, 38, 30)"
    assert unlock.evaluate(colour) == "rgb(15, 107, 98)"
    assert page.locator(".dangers button[value=unlock]").count() == 0
    danger.click()
    page.get_by_role("heading", name=f"{action.partition(':')[0]}?").wait_for()
    page.locator("button.danger").click()
    page.get_by_text(said(language, "Users deactivated: %(count)s.", count=1)).wait_for()
    finding = "Deactivated: cannot sign in until somebody activates the account."
    page.get_by_text(said(language, finding)).wait_for()


@LANGUAGES
def test_caller_is_found_and_helped(site_of_ada, rows, language):
    page = operator(site_of_ada, locale=language)
    label = said(language, "Find whoever calls: an address, a name or a company")
    page.get_by_label(label).fill("Bob@Example.com")
    page.keyboard.press("Enter")

    page.get_by_role("link", name="bob@example.com").first.click()
    locked = {"en": "Locked until", "de": "Gesperrt bis", "sv": "Låst till"}[language]
    page.locator('.finding[data-state="bad"]', has_text=locked).wait_for()
    page.get_by_text(said(language, "Unlock: let them sign in again")).click()

    page.get_by_text(said(language, "Lockouts cleared: %(count)s.", count=1)).wait_for()
    assert locked not in page.locator(".finding").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "viewport"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_pages_of_the_log_in(new_site, device, viewport, scheme):
    site = new_site(STAFF_SECOND_FACTOR="true", RATE_LIMIT_CREDENTIAL="1000")
    kind = f"{device}-{scheme}"
    site.operator()
    page = site.tab("/admin/", viewport=viewport, color_scheme=scheme)
    enter(page)
    page.get_by_role("heading", name="Set up a second factor").wait_for()
    found = {"set up": look(page, f"admin-set-up-{kind}")}
    secret = base64.b32decode(page.locator("#content code").inner_text())
    page.locator("[name=code]").fill(code(0, secret))
    page.get_by_role("button", name="Set up, and log in").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    found["codes"] = look(page, f"admin-codes-{kind}")
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Log out").click()
    page.locator("h1").wait_for()
    found["logged out"] = look(page, f"admin-logged-out-{kind}")
    page.goto("/admin/")
    enter(page)
    page.get_by_role("heading", name="Second factor").wait_for()
    found["second factor"] = look(page, f"admin-second-factor-{kind}")
    for _ in range(6):
        page.goto("/admin/login/")
        page.locator("[name=username]").fill("ada@example.com")
        page.locator("[name=password]").fill("wrong guess")
        page.keyboard.press("Enter")
        page.locator(".errornote, h1").first.wait_for()
    found["refused"] = look(page, f"admin-refused-{kind}")

    assert "Too many attempts" in page.locator("h1").inner_text()
    assert not any(found.values()), found
