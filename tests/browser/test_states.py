"""Every state of the pages in three languages, light and dark, on a phone and on a desk: no barrier
that axe-core finds, nothing wider than the screen, no broken word, and something to do in the first
800 pixels."""

import pytest

from tests.browser.conftest import fill, invite, open_company, open_tab
from tests.browser.helpers import OPEN, code, see
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

LONG = "somebody.with.a.long.name@example.com"
# Whether the heading, and something that can be used, are in the first view.
AT_HAND = """() => ["h1", "a, button, input, select, textarea, summary"].every((wanted) =>
    [...document.querySelectorAll("main")[0].querySelectorAll(wanted)].some((element) =>
        element.checkVisibility() && element.getBoundingClientRect().bottom + scrollY < 800))"""


class Walk:
    """A person's way through the states, in one language; `found` is what is wrong with them."""

    def __init__(self, site, language):
        self.site, self.language, self.found = site, language, {}
        self.page = self.tab("/")

    def tab(self, path):
        return self.site.tab(path, locale=self.language, reduced_motion="reduce")

    def see(self, name, page=None):
        page = page or self.page
        wrong = see(page, f"{name}-{self.language}")
        if name != "docs" and not page.evaluate(AT_HAND):
            wrong.append("nothing at hand in the first view")
        if wrong:
            self.found[name] = wrong

    def guest(self):
        for name in OPEN if self.language == "en" else OPEN[:-1]:  # the last is English alone
            path = f"/{name}#token={'A' * 64}" if name.startswith("change") else f"/{name}"
            self.page.goto(path)
            if name == "docs":
                self.page.locator("[aria-label=About]").wait_for(timeout=30_000)
            self.see(name.replace("/", "-missing") or "home")
        self.page.goto("/forgot-password")
        fill(self.page, email="ada@example.com")
        self.page.locator(".sent:visible").wait_for()
        self.see("sent")
        self.page.goto("/login")
        fill(self.page, email="ada@example.com", password="wrong guess")
        self.page.locator("#status[data-kind=bad]").wait_for()
        self.see("refused")

    def account(self):
        """Ada's page, where she sets an app up; its secret."""
        page = self.page
        fill(page, email="ada@example.com", password=PASSWORD)
        page.locator("[data-protection]:not(:empty)").wait_for()
        self.see("account")
        for row in page.locator("#profile summary").all():
            row.click()
        self.see("account-forms")
        page.locator("[data-set-up=app]").click()
        page.locator("#proof-password:visible").wait_for()
        self.see("factors-proof")
        page.locator("#proof-password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.locator("#app-code:visible").wait_for()
        self.see("factors-app")
        secret = page.locator("[data-secret]").inner_text()
        page.locator("#app-code").fill(code(secret))
        page.locator(".codes:visible").wait_for()
        self.see("factors-codes")
        page.locator("[data-kept]").click()
        page.locator("#factors tr").wait_for()
        self.see("factors-list")

    def people(self):
        page = self.page
        open_company(page)
        page.locator("#team:visible").wait_for()
        self.see("people-alone")
        invite(page, LONG, "nobody")
        page.locator("[data-outcome] li").wait_for()
        self.see("people-refused")
        page.locator("#team").fill("bob@example.com")
        page.locator("[data-team] [type=submit]").click()
        page.locator("[data-invite]:visible").click()
        self.see("people-invite")
        page.keyboard.press("Escape")
        self.see("people")
        open_tab(page, "invitations")
        page.locator("#invitations [data-pick]").first.check()
        self.see("people-picked")
        page.locator("#invitations tr", has_text=LONG).locator("summary").click()
        page.locator("[data-for=revoke]:visible").click()
        page.locator("#confirm[open]").wait_for()
        self.see("people-question")
        page.keyboard.press("Escape")
        open_tab(page, "activity")
        self.see("people-activity")
        open_tab(page, "settings")
        page.locator("[data-factor-rule=required]").click()
        page.locator("#confirm [value=yes]").click()
        page.locator("[data-factor-rule=optional]:visible").wait_for()
        self.see("people-settings")
        page.locator("[data-tab=settings] [href='#sign-in']").click()
        page.locator("#domain").fill("example.com")
        page.keyboard.press("Enter")
        page.locator("[data-domains] code").first.wait_for()
        self.see("people-sign-in")

    def arrival(self, link):
        """Somebody joins a company that requires a second factor; Ada comes back."""
        other = self.tab(link)
        other.locator("[autocomplete=username]:visible").wait_for()
        other.locator("[name=password]").fill("short")
        other.locator("[name=first_name]").focus()
        self.see("join", other)
        fill(other, first_name="Some", last_name="Body", password=PASSWORD)
        other.locator("[data-enrolment] [data-set-up=passkey]:visible").wait_for()
        self.see("factors-enrolment", other)
        self.page.locator("[data-sign-out=here]").click()
        self.page.locator("[data-guests]").wait_for()
        fill(self.page, email="ada@example.com", password=PASSWORD)
        self.page.locator("#proof-code:visible").wait_for()
        self.see("factors-step")


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_no_state_has_a_barrier(site_of_ada, language):
    site_of_ada.query("UPDATE accounts_user SET language = %s", language)
    walk = Walk(site_of_ada, language)

    walk.guest()
    walk.account()
    walk.people()
    walk.arrival(site_of_ada.mailed_link(to=LONG))

    assert walk.found == {}


def test_people_are_invited_by_keyboard_alone(site_of_ada):
    page = site_of_ada.tab("/login")
    for keys in ("ada@example.com", "Tab", PASSWORD, "Enter"):
        page.locator("main input:focus").wait_for()
        page.keyboard.press(keys) if keys in {"Tab", "Enter"} else page.keyboard.type(keys)
    page.locator("main h1:focus", has_text="Your account").wait_for()
    page.locator("[data-when=admin]:visible").focus()
    page.keyboard.press("Enter")
    page.locator("main h1:focus", has_text="Company").wait_for()
    page.locator("#team:enabled:visible").wait_for()
    for _ in range(5):  # four tabs with addresses, and the field
        page.keyboard.press("Tab")
    page.keyboard.type("bob@example.com")
    for _ in range(3):  # role, language, button
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    page.locator("#status", has_text="Invitation sent to bob@example.com.").wait_for()
    page.locator("[data-invite]:visible").focus()
    page.keyboard.press("Enter")
    page.locator("#team:focus").wait_for()
    page.keyboard.press("Escape")
    page.locator("[data-invite]:focus").wait_for()
