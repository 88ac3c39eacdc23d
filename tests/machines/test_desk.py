"""README.md on a fresh machine with the packages that it names."""

import os

import pytest

from tests.machines.conftest import put_code
from tests.machines.guide import blocks, section
from tests.machines.machine import Terminal
from tests.machines.people import APT
from tests.servers import wait_until

pytestmark = pytest.mark.machines

HEALTH = "from urllib.request import urlopen; print(urlopen('http://localhost:8000/health').read())"


def test_make_run_serves_until_ctrl_c(new_machine):
    machine = new_machine("desk1")
    desk = Terminal(machine)
    desk.type("apt-get update")
    desk.type("apt-get install make python3-venv", APT)
    put_code(machine, "/home/ada/consulting")
    desk.type("useradd ada\nchown -R ada: /home/ada\nrunuser -u ada -- bash")
    desk.type("cd /home/ada/consulting; export HOME=/home/ada")
    run = blocks(section("../README", "Run it"))[0]

    os.write(desk.master, run.encode())
    desk.wait_for("Open http://localhost:8000")
    wait_until(lambda: "ok" in machine.run(f'python3 -c "{HEALTH}"', check=False))
    os.write(desk.master, b"\x03")
    desk.wait_for(desk.ENDED)
