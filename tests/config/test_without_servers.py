"""`make test-fast` starts no server, and runs nothing that asks for one."""

import subprocess
import sys


def test_what_asks_for_a_database_by_any_fixture_is_left_out():
    folders = ["tests/audit", "tests/emailchanges", "tests/config/test_architecture.py"]
    command = [sys.executable, "-m", "pytest", "--without-servers", "-q", *folders]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180)

    assert done.returncode == 0, done.stdout
