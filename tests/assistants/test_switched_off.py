"""`ASSISTANTS=false`: the paths of MCP and OAuth are unknown."""

import pytest

from tests.services import run_python

PATHS = ["/mcp", "/oauth/register", "/oauth/authorize", "/oauth/token", "/oauth/revoke"]
PATHS += ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]
PATHS += ["/.well-known/oauth-authorization-server", "/auth/grants"]


@pytest.mark.live
def test_every_path_is_404_without_assistants():
    """In a process of its own: the setting is read at the start."""
    program = (
        "import django; django.setup(); from django.test import Client; "
        f"print({{Client(SERVER_NAME='localhost').get(path).status_code for path in {PATHS}}})"
    )

    assert run_python(program, ASSISTANTS="false") == "{404}\n"
