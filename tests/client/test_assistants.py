"""Clients and OAuth libraries that others wrote get in, and live with parallel calls after expiry,
a lost answer, revocation and a new consent. Each has the versions that it wants, in a folder of its
own.

The inspector's command line has no OAuth: it is given a token, and used in parallel, until that is
revoked.
"""

import pytest

from tests.client.conftest import run
from tests.client.helpers import interpreter

pytestmark = pytest.mark.client

NODE = ["sdk", "inspector", "remote", "oauth4webapi"]
PYTHON = {"mcp-1.22": ["mcp==1.22.0"], "mcp-1.30": ["mcp==1.30.0"]}  # before its second release


@pytest.mark.parametrize("name", NODE)
def test_javascript_client_gets_in_and_stays_in(service, name):
    said = run("node", "clients.js", name, service.url, folder="mcp")

    assert not said, said


@pytest.mark.parametrize("name", PYTHON)
def test_python_client_gets_in_and_stays_in(service, name):
    python = interpreter(name, PYTHON[name])
    said = run(python, "mcp_.py", service.url, folder="pythons")

    assert not said, said


def test_typescript_client_gets_in_by_itself(service):
    assert run("npm", "run", "--silent", "make", folder="mcp") == ""
    said = run("node", "made/walk.js", service.url, folder="mcp")
    assert not said, said
