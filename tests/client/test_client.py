"""A client with types made from the kept schema compiles, and walks against the service."""

import pytest

from tests.client.conftest import run

pytestmark = pytest.mark.client


def test_typed_client_makes_the_main_walk(new_service, tmp_path):
    mails = tmp_path / "mails"
    mails.mkdir()
    service = new_service(EMAIL_URL=f"filemail:///{mails}").start()
    service.spawn("manage.py", "runworker")

    assert run("npm", "run", "--silent", "make") == ""
    assert run("node", "made/walk.js", service.url, str(mails)) == ""
