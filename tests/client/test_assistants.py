"""Clients and OAuth libraries that others wrote get in, and live with parallel calls after expiry,
a lost answer, revocation and a new consent. Each has the versions that it wants, in a folder of its
own.

The inspector's command line has no OAuth: it is given a token, and used in parallel, until that is
revoked. @mcpjam/sdk 1.14.0 starts with the release of @modelcontextprotocol/client that it was
built with (2.0.0-alpha.2, see `overrides` in mcp/package.json): those since have moved a name that
it imports, and npm would take the newest.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PASSWORD

pytestmark = pytest.mark.client

FOLDER = Path(__file__).parent
NODE = ["sdk", "mcpjam", "inspector", "remote", "oauth4webapi", "openid-client"]
PYTHON = {"mcp-1.22": ["mcp==1.22.0"], "mcp-1.30": ["mcp==1.30.0"]}  # before its second release


def run(folder, *command):
    """Run a program in a folder of clients; what it said, if it failed."""
    done = subprocess.run(
        command, cwd=FOLDER / folder, capture_output=True, text=True, check=False, timeout=300
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture
def service(new_service):
    service = new_service(RATE_LIMIT_CREDENTIAL="1000")
    person = {"DJANGO_SUPERUSER_EMAIL": "ada@example.com", "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    service.environment |= person
    service.manage("createsuperuser", "--noinput")
    return service.start()


def interpreter(name, requirements):
    """A Python with these packages; made once, and again when they change."""
    folder = FOLDER / "pythons" / ".venvs" / name
    kept, wanted = folder / "requirements.txt", "\n".join(requirements)
    if not kept.exists() or kept.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([folder / "bin/python", *install, *requirements], check=True)
        kept.write_text(wanted)
    return str(folder / "bin/python")


@pytest.mark.parametrize("name", NODE)
def test_javascript_client_gets_in_and_stays_in(service, name):
    said = run("mcp", "node", "clients.js", name, service.url)

    assert not said, said


@pytest.mark.parametrize("name", PYTHON)
def test_python_client_gets_in_and_stays_in(service, name):
    said = run("pythons", interpreter(name, PYTHON[name]), "mcp_.py", service.url)

    assert not said, said
