"""A client with types made from the kept schema compiles, and walks against the service."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.client

FOLDER = Path(__file__).parent


def run(*command):
    """Run a program of the client's folder; what it said, if it failed."""
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_typed_client_makes_the_main_walk(new_service, tmp_path):
    mails = tmp_path / "mails"
    mails.mkdir()
    service = new_service(EMAIL_URL=f"filemail:///{mails}").start()
    service.spawn("manage.py", "runworker")

    assert run("npm", "run", "--silent", "make") == ""
    assert run("node", "made/walk.js", service.url, str(mails)) == ""
