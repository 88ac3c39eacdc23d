"""The script of docs/siem.md, which copies the audit log for other systems."""

import json
import os
import subprocess

import pytest

from tests import servers
from tests.config.guide import block
from tests.services import query

EVENT = """
    INSERT INTO audit_record (kind, at, actor_email, subject, address, agent, detail)
    VALUES ('login.failed', now() - %s * interval '1 minute', '', %s, '', '', '{}')
"""


@pytest.fixture
def url(new_database):
    return new_database()


@pytest.fixture
def copy(url, tmp_path):
    """Runs the guide's script. Returns the subjects of the events that it writes."""
    script = tmp_path / "consulting-audit"
    script.write_text(block("siem", "mode 755:"), encoding="utf-8")
    path = f"{servers.POSTGRES.programs}:{os.environ['PATH']}"
    environment = {"PATH": path, "STATE_DIRECTORY": str(tmp_path), "DATABASE_URL": url}

    def run(before="", **changes):
        done = subprocess.run(
            ["sh", "-c", f"{before}\nexec sh {script}"],
            env=environment | changes,
            capture_output=True,
            text=True,
            check=not (before or changes),
        )
        return [json.loads(line)["subject"] for line in done.stdout.splitlines()]

    return run


def test_each_event_of_the_audit_log_is_copied_once_when_it_is_five_minutes_old(url, copy):
    query(url, EVENT, 60 * 24 * 300, "long ago")
    query(url, EVENT, 10, "today")
    query(url, EVENT, 0, "in progress")

    assert copy() == ["long ago", "today"]
    assert copy() == []


def test_events_of_an_outage_are_copied_after_it(url, copy):
    assert copy(DATABASE_URL="postgres://127.0.0.1:1/none") == []
    query(url, EVENT, 10, "meanwhile")

    assert copy() == ["meanwhile"]


def test_position_outlives_a_full_disk(url, copy):
    query(url, EVENT, 10, "earlier")
    assert copy() == ["earlier"]
    copy(before="ulimit -f 0")  # no file can grow

    assert copy() == []
