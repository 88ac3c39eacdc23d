"""The official TypeScript SDK's client gets in, and uses the tools."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import PASSWORD

pytestmark = pytest.mark.client

FOLDER = Path(__file__).parent / "mcp"


def run(*command):
    """Run a program of the client's folder; what it said, if it failed."""
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_typescript_client_gets_in_by_itself(new_service):
    service = new_service(RATE_LIMIT_CREDENTIAL="100")
    person = {"DJANGO_SUPERUSER_EMAIL": "ada@example.com", "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    service.environment |= person
    service.manage("createsuperuser", "--noinput")
    service.start()

    assert run("npm", "run", "--silent", "make") == ""
    said = run("node", "made/walk.js", service.url)
    assert not said, said
