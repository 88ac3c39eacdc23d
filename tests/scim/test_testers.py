"""What testers that others wrote say of provisioning, against a started service."""

import re
import uuid

import httpx2
import pytest
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server, filling
from scim_sanity.probe.runner import run_probe_api

from tests.scim.conftest import provisioned


@pytest.fixture(scope="module")
def service(new_shared_service):
    service = new_shared_service()
    service.key = provisioned(service)
    return service.start()


def test_scim2_tester(service, monkeypatch):
    def example(path):
        return f"{uuid.uuid4()}@example.com" if str(path).endswith("userName") else None

    monkeypatch.setattr(filling, "get_random_example_value", example)
    headers = {"Authorization": f"Bearer {service.key}"}
    with httpx2.Client(base_url=f"{service.url}/scim/v2", headers=headers) as http:
        results = check_server(SyncSCIMClient(http))
    # Three names at once can't all be kept, and everyone is active or not.
    errors = [result for result in results if result.status == Status.ERROR]
    assert [(error.title, re.findall("'(.+?)'", error.reason)[0]) for error in errors] == [
        ("check_add_attribute", "name"),
        ("check_remove_attribute", "active"),
        ("check_replace_attribute", "name"),
    ]


def test_scim_sanity_with_the_profile_of_entra(service):
    told = run_probe_api(
        f"{service.url}/scim/v2", service.key, profile="entra", user_domain="example.com"
    )
    failed = {r["name"] for r in told["results"] if r["status"] not in {"pass", "skip"}}
    # Given and family name, which its PUT has unchanged, win over another `displayName`.
    assert failed <= {"GET /Users/{id} after PUT"}
    assert told["summary"]["passed"] >= 17


IMPORTED = "import sys; print(*sorted({'scim2_models', 'scim2_server'} & set(sys.modules)))"


@pytest.mark.parametrize(
    ("program", "libraries"),
    [("import config.wsgi", "scim2_models scim2_server\n"), ("import manage; manage.main()", "\n")],
)
def test_library_is_imported_before_the_fork_and_by_no_command(service, program, libraries):
    """It takes over a second, which no request and no command waits for."""
    arguments = ["-c", f"import sys; sys.argv = ['manage.py', 'check']; {program}; {IMPORTED}"]

    assert service.run(*arguments).splitlines()[-1:] == libraries.splitlines()
