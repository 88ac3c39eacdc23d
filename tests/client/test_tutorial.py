"""docs/tutorial.md, followed as it stands: its commands and files, and its walk in a browser."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cast import PASSWORD
from tests.client.conftest import FOLDER
from tests.config.helpers import Run
from tests.requests import ask
from tests.servers import free_port, wait_until

pytestmark = pytest.mark.client

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETTING = re.compile(r"(\w+)=(\S+)")
# npm asks the registry only for what it has not downloaded before.
NPM = {"npm_config_prefer_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false"}


def listens(port):
    """Whether a server listens on a port of `localhost`, by IPv4 or IPv6."""
    with contextlib.suppress(OSError), socket.create_connection(("localhost", port), 1):
        return True
    return False


def typed(block):
    """What a terminal is told: commands, or to write a file, whose first line has its name."""
    language, text = block
    if language == "sh":
        return text
    name, _, content = text.removeprefix("// ").partition("\n")
    return f"cat > {name} <<'END OF FILE'\n{content}END OF FILE\n"


class Tutorial:
    """The guide, on ports that are free here."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = {port: free_port() for port in ("8000", "5173", "3000")}
        text = Path("docs/tutorial.md").read_text(encoding="utf-8")
        text = re.sub("|".join(self.ports), lambda port: str(self.ports[port[0]]), text)
        self.text = text.replace("~/consulting-management", str(Path.cwd()))

    def blocks(self, step):
        """The code of a numbered step, as (language, text)."""
        return BLOCK.findall(self.text.partition(f"\n## {step}. ")[2].partition("\n## ")[0])

    def script(self, step):
        """A step as one terminal's input: each file is written where its code stands."""
        return "".join(map(typed, self.blocks(step)))

    @contextlib.contextmanager
    def terminal(self, step, port):
        """A terminal in which the step's last command serves a port."""
        output = self.folder / f"terminal-{step}.log"
        here = {"cwd": self.folder, "env": os.environ | NPM, "start_new_session": True}
        with output.open("wb") as log:
            command = ["bash", "-euc", self.script(step)]
            shell = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **here
            )
        with shell:
            try:
                wait_until(lambda: listens(self.ports[port]) or shell.poll() is not None, 240)
                assert shell.poll() is None, output.read_text(encoding="utf-8")
                yield
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGTERM)


@pytest.fixture
def tutorial(tmp_path):
    return Tutorial(tmp_path)


@pytest.fixture
def service(tutorial, tmp_path):
    """What `make run` starts, with the settings that stand before it."""
    assert list((FOLDER / "../../dist").glob("*.tgz"))  # of `make package`
    (command,) = re.findall(r"^(.*)make run$", tutorial.script(1), re.MULTILINE)
    folder = tmp_path / "service"
    folder.mkdir()
    run = Run(folder, tutorial.ports["8000"], **dict(SETTING.findall(command)))
    yield run
    run.process.terminate()
    run.process.wait(20)


def fill(page, action, **fields):
    """Fill a form in by its labels, and send it."""
    form = page.locator("form", has=page.get_by_role("button", name=action))
    for label, value in fields.items():
        form.get_by_label(label.replace("_", " ")).fill(value)
    form.get_by_role("button", name=action).click()


def mailed_link(service, page):
    return service.wait_for(rf"http://localhost:\d+/{page}#token=[\w-]{{64}}")[0]


def test_front_end_of_the_tutorial_signs_in_invites_and_calls_a_service_of_its_own(
    tutorial, service, browser
):
    front_end, orders = tutorial.terminal(2, "5173"), tutorial.terminal(5, "3000")
    with front_end, browser.new_context() as mine, browser.new_context() as private:
        address = f"http://localhost:{tutorial.ports['5173']}"
        for context in (mine, private):
            context.set_default_timeout(60_000)  # a busy machine is no fault of a page
        page = mine.new_page()
        page.goto(address)
        fill(page, "Sign up", **{"E-mail_address": "ada@example.com"})
        page.get_by_text("If the address is available").wait_for()
        page.goto(mailed_link(service, "complete-signup"))
        ada = {"First_name": "Ada", "Last_name": "Lovelace", "Password": PASSWORD}
        fill(page, "Create the company", Company="Analytical Engines", **ada)
        page.get_by_text("Signed in as ada@example.com, admin").wait_for()
        assert page.url == f"{address}/"

        page.reload()
        page.get_by_text("Signed in as ada@example.com, admin").wait_for()
        tab = mine.new_page()
        tab.goto(address)
        tab.get_by_text("Signed in as ada@example.com, admin").wait_for()
        tab.get_by_role("button", name="Sign out").click()
        fill(page, "Sign in", **{"E-mail_address": "ada@example.com"}, Password=PASSWORD)
        page.get_by_text("Signed in as ada@example.com, admin").wait_for()
        tab.get_by_text("Signed in as ada@example.com, admin").wait_for()

        fill(page, "Invite", **{"E-mail_address": "bob@example.com"})
        page.get_by_role("status").get_by_text("Done.").wait_for()
        colleague = private.new_page()
        colleague.goto(mailed_link(service, "accept-invitation"))
        bob = {"First_name": "Bob", "Last_name": "Boole", "Password": "laws of thought"}
        fill(colleague, "Join", **bob)
        colleague.get_by_text("Signed in as bob@example.com, member").wait_for()

        with orders:
            colleague.get_by_role("button", name="Show orders").click()
            colleague.get_by_text("An order of the company").wait_for()
            answer = ask(f"http://127.0.0.1:{tutorial.ports['3000']}", "GET", "/orders")
            assert answer.status == 401
