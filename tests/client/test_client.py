"""A client with types made from the kept schema compiles, and walks against the service."""

import pytest

from tests.browser.conftest import serve
from tests.client.conftest import run

pytestmark = pytest.mark.client


def test_typed_client_makes_the_main_walk(new_service):
    service = serve(new_service())

    assert run("npm", "run", "--silent", "make") == ""
    assert run("node", "made/walk.js", service.url, str(service.folder / "mails")) == ""
