"""Queries of a tool call, and modules that are loaded only if the MCP endpoint is used."""

import pytest

from tests.assistants.conftest import send
from tests.services import run_python

pytestmark = pytest.mark.django_db

LATE = ["mcp_types", "assistants.protocol", "assistants.tools"]


def test_tool_call_takes_two_queries_and_one_redis_command(costs, assistant):
    send(assistant, "tools/list")

    assert costs(lambda: send(assistant, "tools/call", name="whoami")) == (200, 2, 1)


@pytest.mark.live
def test_modules_of_mcp_are_loaded_with_the_first_message():
    """In a process of its own: this one has loaded it all."""
    program = (
        "import os, sys, django; django.setup(); "
        "from django.test import Client; "
        "browser = Client(SERVER_NAME='localhost'); browser.get('/unknown'); "
        "browser.get('/.well-known/oauth-protected-resource'); "
        f"print([name for name in {LATE} if name in sys.modules]); "
        "from assistants import protocol, tools; "
        f"print([name for name in {LATE} if name not in sys.modules])"
    )

    assert run_python(program).splitlines() == ["[]", "[]"]
