"""The systemd units: what systemd itself says of them, and a restart behind the held socket."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.requests import ask

pytestmark = pytest.mark.deploy

SUFFIXES = {".service", ".socket", ".timer"}
UNITS = sorted(path for path in Path("deploy").iterdir() if path.suffix in SUFFIXES)


def test_systemd_finds_nothing_to_say(tmp_path):
    """Its own parser, which looks for each unit's program, too; only their folder is another."""
    program = shutil.which("systemd-analyze")
    assert program, "there is no `systemd-analyze` (Debian's systemd)"
    assert len(UNITS) == 5
    folder = f"{Path(sys.executable).parent}/"
    for unit in UNITS:
        text = unit.read_text().replace("/srv/consulting/.venv/bin/", folder)
        (tmp_path / unit.name).write_text(text)

    command = [program, "verify", "--man=no", *(str(tmp_path / unit.name) for unit in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    said = [line for line in done.stderr.splitlines() if "consulting" in line]
    assert (done.returncode, said) == (0, []), done.stderr


def test_restart_fails_no_request(site):
    service, sockets = site.service, site.sockets
    statuses = []
    restarted = threading.Event()

    def call():
        while not restarted.is_set():
            answer = ask(service.url, "GET", "/health", connection="close")
            statuses.append(answer.status)

    first = service.server
    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait(60) == 0
    sockets.serve(service)
    restarted.set()
    for caller in callers:
        caller.join()

    assert len(statuses) >= 4
    assert set(statuses) == {200}
