"""A front-end of another site: its session where browsers block the API's cookie, and where not."""

import contextlib
import json
import shutil

import pytest

from tests.browser.conftest import FLAGS, Site, serve
from tests.client.helpers import built_at, person, sign_up
from tests.servers import free_port

pytestmark = pytest.mark.client

KEPT = {"refresh_token": "memory"}


class Profile:
    """A browser that blocks third-party cookies, or lets them through, whatever its default is."""

    def __init__(self, browser, folder, blocks):
        self.kind, self.folder = browser.browser_type, folder
        preferences = folder / "Default/Preferences"
        preferences.parent.mkdir()
        preferences.write_text(json.dumps({"profile": {"cookie_controls_mode": int(blocks)}}))

    def new_context(self, **options):
        program = shutil.which("chromium")
        return self.kind.launch_persistent_context(
            self.folder, executable_path=program, args=FLAGS, **options
        )


@pytest.fixture
def strict(browser, tmp_path):
    return Profile(browser, tmp_path, blocks=True)


@pytest.fixture
def lenient(browser, tmp_path):
    return Profile(browser, tmp_path, blocks=False)


@pytest.fixture
def new_site(new_service):
    """Makes a service at `localhost`, and a front-end at 127.0.0.1: to a browser two sites."""
    origin = f"http://127.0.0.1:{free_port()}"
    settings = {"COOKIE_SAMESITE": "None", "COOKIE_SECURE": "true"}
    service = new_service(FRONTEND_URL=origin, CORS_ALLOWED_ORIGINS=origin, **settings)
    with contextlib.ExitStack() as made:

        def make(browser, **options):
            site = Site(serve(service), browser)
            return made.enter_context(built_at(origin, site, site.url, **options))

        yield make


def lapse(page):
    """Put a browser's clock on to where access tokens have ended; the page's refreshes then."""
    refreshes = []
    page.on("request", lambda one: one.url.endswith("/auth/refresh") and refreshes.append(one))
    page.clock.install()
    page.clock.fast_forward("59:40")
    return refreshes


def ask(page, times=1):
    """Calls that are made at once, until they are answered."""
    with page.expect_response("**/auth/me"):
        page.evaluate("times => { while (times--) document.querySelector('#call').click() }", times)
    page.get_by_text("You are ada@example.com").wait_for()


def test_cookie_alone_is_lost_where_browsers_block_it(new_site, strict):
    page = sign_up(new_site(strict))
    lapse(page)

    page.get_by_role("button", name="Ask who I am").click()

    page.locator("section").wait_for(state="hidden")
    assert page.context.cookies() == []


def test_kept_token_refreshes_once_for_many_calls_without_a_cookie(new_site, strict):
    page = sign_up(new_site(strict, **KEPT))
    refreshes = lapse(page)

    ask(page, 5)

    assert [list(one.post_data_json) for one in refreshes] == [["refresh_token"]]
    assert "cookie" not in refreshes[0].all_headers()
    page.clock.fast_forward("59:40")
    ask(page)
    first, second = (one.post_data_json["refresh_token"] for one in refreshes)
    assert first != second
    assert page.evaluate("JSON.stringify({ ...localStorage })").count("ey") == 0


def test_session_ends_with_its_last_tab_where_cookies_are_blocked(new_site, strict):
    page = sign_up(new_site(strict, **KEPT))
    other = page.context.new_page()
    other.goto(page.url)
    person(other)
    lapse(page)  # as in tabs that have been left alone for an hour
    other.reload()
    person(other)
    ask(other)

    page.close()
    other.reload()

    other.locator("#login").wait_for()
    other.get_by_text("Please log in again").wait_for()


def test_session_outlives_a_reload_where_cookies_get_through(new_site, lenient):
    page = sign_up(new_site(lenient, **KEPT))

    page.reload()

    person(page)
    ask(page)
