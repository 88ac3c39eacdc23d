"""A front-end on an origin of its own, in a real browser, with the client that the pages use."""

import shutil
import subprocess
import sys

import pytest
from django.conf import settings

from tests.browser.conftest import Site, serve
from tests.cast import PASSWORD
from tests.client.conftest import FOLDER
from tests.client.helpers import built_at, fill, person, sign_up
from tests.servers import free_port, wait_for_port

pytestmark = pytest.mark.client


@pytest.fixture
def site(new_service, browser):
    origin = f"http://127.0.0.1:{free_port()}"
    service = serve(new_service(FRONTEND_URL=origin, CORS_ALLOWED_ORIGINS=origin))
    with built_at(origin, Site(service, browser)) as site:
        yield site


def test_log_in_is_refused_in_words_and_then_calls_are_made(site):
    page = sign_up(site)
    page.get_by_role("button", name="Sign out").click()
    page.locator("section").wait_for(state="hidden")
    page.goto(site.frontend)
    fill(page, "#login", email="ada@example.com", password="wrong guess")
    page.get_by_text("wrong e-mail or password").wait_for()

    fill(page, "#login", email="ada@example.com", password=PASSWORD)
    person(page)
    page.get_by_role("button", name="Ask who I am").click()

    page.get_by_text("You are ada@example.com").wait_for()


def test_old_token_is_refreshed_by_the_cookie_of_the_other_origin(site):
    page = sign_up(site)
    page.clock.install()
    page.reload()
    person(page)
    page.clock.fast_forward("59:40")

    with page.expect_response("**/auth/refresh") as refreshed:
        page.get_by_role("button", name="Ask who I am").click()

    assert refreshed.value.ok
    page.get_by_text("You are ada@example.com").wait_for()


def test_plain_page_signs_in_asks_and_signs_out(new_service, browser, tmp_path):
    """One HTML file beside a copy of the client, without TypeScript or a build."""
    origin = f"http://127.0.0.1:{free_port()}"
    service = new_service(FRONTEND_URL=origin, CORS_ALLOWED_ORIGINS=origin)
    site = Site(serve(service), browser)
    site.operator()
    text = (FOLDER / "frontend/plain.html").read_text(encoding="utf-8")
    text = text.replace("http://localhost:8000", service.url)
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    shutil.copy(settings.BASE_DIR / "pages/static/pages/client.js", tmp_path)
    command = [sys.executable, "-m", "http.server", origin.rpartition(":")[2], "-b", "127.0.0.1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as server:
        wait_for_port(int(origin.rpartition(":")[2]))
        page = site.tab(origin)
        fill(page, "form", email="ada@example.com", password="wrong guess")
        page.get_by_text("wrong e-mail or password").wait_for()
        fill(page, "form", password=PASSWORD)
        page.get_by_text("Signed in as ada@example.com").wait_for()
        page.reload()
        page.get_by_role("button", name="Ask who I am").click()
        page.get_by_text("You are ada@example.com").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.locator("form").wait_for()
        server.terminate()
    for context in site.contexts:
        context.close()
