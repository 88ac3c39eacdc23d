"""Thousands of generated requests to the running service: no 5xx, no answer that the schema omits.

Schemathesis makes them from the served schema, the same ones in each run.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.helpers import UNLIMITED

pytestmark = pytest.mark.live

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
]
PROGRAM = str(Path(sys.executable).parent / "schemathesis")


def generate(service, examples, *options, phases="examples,fuzzing"):
    """Run schemathesis. Returns the number of generated cases, and its report if any failed."""
    command = [PROGRAM, "run", f"{service.url}/schema", "--checks", ",".join(CHECKS)]
    command += ["--phases", phases, "--max-examples", str(examples)]
    command += ["--seed", "1", "--generation-deterministic"]
    # A busy machine is no failure: neither slow generation nor a kept connection that has expired.
    command += ["--suppress-health-check", "all", "--request-retries", "2"]
    command += ["--request-timeout", "30"]
    # One worker: threads that parse source together can fail in CPython 3.11's own `ast`.
    command += ["--workers", "1", "--no-color", "--warnings", "off", "--no-shrink"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, cwd=service.folder, check=False
    )
    found = re.search(r"(\d+) generated", done.stdout)
    report = "" if done.returncode == 0 else done.stdout + done.stderr
    return int(found[1]) if found else 0, report


@pytest.fixture
def service(new_service):
    return new_service(**UNLIMITED).start()


def test_no_stranger_gets_an_undescribed_answer(service):
    cases, report = generate(service, 10)

    assert not report, report[-6000:]
    assert cases > 150


def test_no_admin_gets_an_undescribed_answer(service):
    bearer = "Authorization: " + service.add_operator().bearer()["Authorization"]
    # It would end the bearer's own session at the first case.
    options = "-H", bearer, "--exclude-path", "/auth/logout-everywhere"
    cases, report = generate(service, 10, *options, phases="examples,coverage,fuzzing")

    assert not report, report[-6000:]
    assert cases > 1000


def test_limits_answer_as_described(new_service):
    service = new_service().start()

    _, report = generate(service, 5)

    assert not report, report[-6000:]
