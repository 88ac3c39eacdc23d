"""The systemd units: what systemd itself says of them, and a restart behind the held socket."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
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


@pytest.fixture
def open_folder():
    """A folder to which every user has access; pytest's own are for one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_time_of_the_backup_is_written_with_the_rights_of_the_folders_owner(open_folder):
    """Root's script, without what systemd makes of `%%` and `$$`."""
    if os.geteuid():
        return
    unit = Path("deploy/consulting-backup.service").read_text()
    script = re.search(r"^ExecStartPost=-\+/bin/sh -c '(.*)'$", unit, re.MULTILINE)[1]
    victim, folder = open_folder / "victim", open_folder / "exporter"
    victim.write_text("whole")
    folder.mkdir()
    os.chown(folder, 54321, 54321)
    script = script.replace("/var/lib/prometheus/node-exporter", str(folder))
    script = script.replace("$$", "$").replace("%%", "%")

    assert subprocess.run(["sh", "-c", script], check=False).returncode == 0
    assert re.fullmatch(r"\w+ \d+\n", (folder / "consulting.prom").read_text())
    assert (folder / "consulting.prom").stat().st_uid == 54321
    (folder / "consulting.part").symlink_to(victim)
    subprocess.run(["sh", "-c", script], check=False)
    folder.rename(open_folder / "away")
    folder.symlink_to(open_folder)
    os.lchown(folder, 54321, 54321)
    subprocess.run(["sh", "-c", script], check=False)
    assert victim.read_text() == "whole"
    assert not (open_folder / "consulting.prom").exists()


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
