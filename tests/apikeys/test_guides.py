"""The commands of docs/api-keys.md and docs/provisioning.md, run as they stand there."""

import os
import shlex
import subprocess

import pytest
from django.core.management import call_command

from accounts.models import User
from api.views import Scope
from apikeys.models import ApiKey
from audit.models import AuditEvent, Kind
from tests.config.guide import block
from tests.sso.conftest import prove

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(live_server, new_key):
    """Runs a guide's commands with a key that has this scope; returns what they print."""

    def run(guide, heading, scope):
        script = block(guide, heading).replace("https://api.example.com", live_server.url)
        environment = os.environ | {"API_KEY": new_key(scope)[1]}
        command = ["bash", "-euc", script]
        return subprocess.check_output(command, env=environment, text=True, timeout=60)

    return run


def test_a_program_calls_with_its_key(run, ada):
    assert "ada@example.com" in run("api-keys", "Send it as a bearer token", Scope.USERS_READ)


def test_operators_make_and_list_keys():
    for line in block("api-keys", "## Keys for operators").splitlines():
        call_command(*shlex.split(line)[1:])

    assert ApiKey.objects.get().scopes == [Scope.EVENTS_READ]


def test_a_script_provisions_a_user_and_deactivates_it(run, ada):
    prove(ada.account, "example.com")

    run("provisioning", "### A script", Scope.SCIM)

    bob = User.objects.get(email="bob@example.com")
    assert (bob.account_id, bob.get_full_name(), bob.is_active) == (
        ada.account_id, "Bob Boole", False
    )  # fmt: skip
    kinds = AuditEvent.objects.filter(subject_id=bob.pk).values_list("kind", flat=True)
    assert {Kind.PROVISIONED, Kind.DEACTIVATED} <= {*kinds}
    assert ApiKey.objects.get().last_problem == ""
