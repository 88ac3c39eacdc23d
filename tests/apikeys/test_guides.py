"""The commands of docs/api-keys.md and docs/provisioning.md, run as they stand there, and how the
consumer of docs/events.md takes errors."""

import io
import os
import re
import shlex
import subprocess
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

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


@pytest.fixture
def get(monkeypatch, tmp_path):
    """Calls the consumer's `get`, which meets these errors one after the other and then `{}`."""
    guide = Path("docs/events.md").read_text("utf-8")
    functions = re.search(r"```python\n(.*?)while True:\n    time.sleep", guide, re.S)[1]
    names = {"SERVICE_URL": "http://x", "API_KEY": "cm_x", "COPY": str(tmp_path / "copy")}
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    consumer = {}
    exec(functions, consumer)

    def call(*errors):
        answers = iter([*errors, None])

        def answer(_, timeout):
            if error := next(answers):
                raise error
            return io.BytesIO(b"{}")

        monkeypatch.setattr(urllib.request, "urlopen", answer)
        return consumer["get"]("/users/1")

    yield call
    consumer["copy"].close()


def status(code, **headers):
    return HTTPError("http://x", code, "", headers, None)


def test_consumer_of_events_waits_for_a_restart_and_takes_no_error_for_a_lost_user(get, capsys):
    pauses = [{"Retry-After": text} for text in ("7", "Sat, 28 Nov 2026 12:00:00 GMT")]
    assert get(status(502), *(status(503, **pause) for pause in pauses), status(429)) == {}
    assert get(URLError("refused"), ConnectionResetError(), TimeoutError()) == {}
    assert "refused" in capsys.readouterr().out
    assert (get(status(404)), get(status(410))) == ({"status": 404}, {"status": 410})
    for code in (401, 403, 500):
        with pytest.raises(HTTPError):
            get(status(code))
