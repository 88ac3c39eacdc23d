"""The systemd units: what systemd itself says of them, and a restart behind the held socket."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.conftest import Service

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


class Socket:
    """What consulting.socket does: it listens, and hands the socket to each start of gunicorn."""

    def __init__(self, port: int) -> None:
        self.listener = socket.create_server(("127.0.0.1", port), backlog=2048)

    def serve(self, service: Service) -> "subprocess.Popen[bytes]":
        """gunicorn with the socket as file descriptor 3, as sd_listen_fds(3) wants it."""
        script = f'exec 3<&{self.listener.fileno()}; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        with service.log_path.open("ab") as log:
            process = subprocess.Popen(
                ["bash", "-c", script, "-", sys.executable, "-m", "gunicorn", "config.wsgi"],
                env=service.environment,
                pass_fds=[self.listener.fileno()],
                stdout=log,
                stderr=log,
            )
        service.processes.append(process)
        return process


def test_restart_fails_no_request(new_service: Callable[..., Service]) -> None:
    service = new_service(WEB_CONCURRENCY="2")
    held = Socket(service.port)
    statuses: list[int] = []
    restarted = threading.Event()

    def call() -> None:
        while not restarted.is_set():
            answer = httpx.get(f"{service.url}/health", headers={"Connection": "close"}, timeout=20)
            statuses.append(answer.status_code)

    first = held.serve(service)
    assert httpx.get(f"{service.url}/health", timeout=20).status_code == 200
    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait(15) == 0
    held.serve(service)
    httpx.get(f"{service.url}/health", timeout=20)
    restarted.set()
    for caller in callers:
        caller.join()
    held.listener.close()

    assert len(statuses) >= 4
    assert set(statuses) == {200}
