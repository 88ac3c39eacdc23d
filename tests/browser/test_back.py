"""Back to a page of the account, in a browser that keeps whole pages in memory, as people's do."""

import shutil

import pytest

from tests.browser.conftest import FLAGS, Site, empty, heading, press
from tests.servers import wait_until

pytestmark = pytest.mark.browser

# Playwright's own arguments switch this cache off.
NO_CACHE = ["--disable-back-forward-cache"]
# Each page says how it came to be shown: `true` if the browser has restored it from memory.
LISTEN = "addEventListener('pageshow', it => localStorage.setItem(location.pathname, it.persisted))"


class KeptPages(Site):
    """In its browsers each page tells how it came; `stores` lets them keep every page."""

    stores = False

    def person(self, **options):
        context = super().person(**options)
        context.add_init_script(LISTEN)
        if self.stores:
            context.route("**/*", answer_storable)
        return context

    def leave(self):
        for context in self.contexts:
            context.unroute_all(behavior="wait")
        super().leave()


def answer_storable(route):
    """What the service answers, without its word against storing."""
    answer = route.fetch(max_redirects=0)
    headers = {name: value for name, value in answer.headers.items() if name != "cache-control"}
    route.fulfill(response=answer, headers=headers)


@pytest.fixture
def site(shared_service, browser):
    program = shutil.which("chromium")
    caching_browser = browser.browser_type.launch(
        executable_path=program, args=FLAGS, ignore_default_args=NO_CACHE
    )
    empty(shared_service)
    site = KeptPages(shared_service, caching_browser)
    site.operator()
    yield site
    site.leave()
    caching_browser.close()


def leave_account(site):
    """A tab that shows the account, and then another page."""
    page = site.account()
    page.get_by_text("Not set up yet.").wait_for()
    page.goto("/docs")
    return page


def go_back(page):
    """Back to the account, and whether it was restored, as another tab reads it."""
    other = page.context.new_page()
    other.goto("/docs")
    other.evaluate("localStorage.removeItem('/profile')")
    page.evaluate("() => { setTimeout(() => history.back()) }")
    restored = wait_until(lambda: other.evaluate("() => localStorage.getItem('/profile')"))
    other.close()
    return restored == "true"


def test_this_browser_restores_a_page_that_it_may_store(site):
    """Without this the other tests would prove nothing."""
    site.stores = True
    page = leave_account(site)

    assert go_back(page)


def test_page_of_the_account_is_not_stored(site):
    page = leave_account(site)

    assert not go_back(page)
    heading(page, "Your account")


@pytest.mark.parametrize("stores", [False, True])
def test_back_after_signing_out_restores_nothing(site, stores):
    """Also where a browser ignores `no-store`: the sign-out in the other tab ends the kept page."""
    site.stores = stores
    page = leave_account(site)
    other = page.context.new_page()
    other.goto("/profile")
    heading(other, "Your account")
    press(other, "Sign out")
    heading(other, "Sign in")

    assert not go_back(page)
    heading(page, "Sign in")
    assert page.locator("body", has_text="ada@example.com").count() == 0
