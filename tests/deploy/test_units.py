"""The systemd units: what systemd itself says of them, and a restart behind the held socket."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import Service
from tests.deploy.conftest import Sockets
from tests.requests import ask

pytestmark = pytest.mark.deploy

UNITS = sorted(path for path in Path("deploy").iterdir() if path.suffix in {".service", ".socket"})


def test_units_are_these() -> None:
    names = ["consulting-mail.service", "consulting.service", "consulting.socket"]

    assert [path.name for path in UNITS] == names


def test_units_run_programs_of_the_service() -> None:
    text = "".join(path.read_text() for path in UNITS)

    assert "\nExecStart=/srv/consulting/.venv/bin/gunicorn config.wsgi\n" in text
    assert "\nExecStart=/srv/consulting/.venv/bin/python manage.py sendmail\n" in text
    assert text.count("\nEnvironmentFile=/etc/consulting/environment\n") == 2


def test_systemd_finds_nothing_to_say(tmp_path: Path) -> None:
    """Its own parser, where it is installed; only the programs' folder is another."""
    if not (program := shutil.which("systemd-analyze")):
        return
    folder = f"{Path(sys.executable).parent}/"
    for unit in UNITS:
        text = unit.read_text().replace("/srv/consulting/.venv/bin/", folder)
        (tmp_path / unit.name).write_text(text)

    command = [program, "verify", "--man=no", *(str(tmp_path / unit.name) for unit in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    said = [line for line in done.stderr.splitlines() if "consulting" in line]
    assert (done.returncode, said) == (0, []), done.stderr


def test_restart_fails_no_request(service: Service, sockets: Sockets) -> None:
    statuses: list[int] = []
    restarted = threading.Event()

    def call() -> None:
        while not restarted.is_set():
            answer = ask(service.url, "GET", "/health", connection="close")
            statuses.append(answer.status)

    first = service.server
    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait(15) == 0
    sockets.serve(service)
    restarted.set()
    for caller in callers:
        caller.join()

    assert len(statuses) >= 4
    assert set(statuses) == {200}
