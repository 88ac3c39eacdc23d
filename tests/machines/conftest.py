"""Machines, what they need in the internet's place, and the people who call them."""

import os
import re
import shutil
import signal
import ssl
import tempfile
from email import message_from_bytes, policy
from pathlib import Path

import httpx
import pytest
from aiosmtpd.controller import Controller

from tests.machines.machine import PROGRAMS, Machine, do, fresh_debian
from tests.servers import wait_until

DOMAIN = "login.your-domain.com"  # the guides' own
DEBIAN = os.environ.get("DEBIAN", "trixie")


@pytest.fixture(scope="package")
def folder():
    """Where the machines lie. $MACHINES keeps fresh Debians from one run to the next."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        pytest.fail(f"missing: {missing} (debootstrap systemd-container iproute2 iptables zstd)")
    if os.geteuid():
        pytest.fail("only root can boot machines")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leaves nothing behind then, too
    kept = os.environ.get("MACHINES")
    folder = Path(kept or tempfile.mkdtemp(prefix="machines-", dir="/var/tmp"))
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    if not kept:
        shutil.rmtree(folder)


@pytest.fixture(scope="package")
def new_machine(folder):
    """Makes machines, each a fresh Debian."""
    made = []

    def make(name, *options, release=DEBIAN):
        made.append(Machine(folder, name, fresh_debian(release, folder), *options))
        made[-1].make()
        return made[-1].boot()

    yield make
    for machine in made:
        machine.remove()


def put_code(machine, path):
    """This folder's code as git knows it, changes that are not committed too."""
    there = machine.root / path.lstrip("/")
    there.mkdir(parents=True, exist_ok=True)
    files = do("git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate")
    for name in files.splitlines():
        if Path(name).is_file():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, there / name)


class Mailbox:
    """A mail server for all the world's addresses, which a machine reaches at its gateway."""

    def __init__(self, machine):
        self.mails = []
        self.controller = Controller(self, hostname=machine.gateway, port=2525)
        self.controller.start()
        self.url = f"smtp://{machine.gateway}:2525"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's name
        self.mails.append((envelope.rcpt_tos, envelope.content))
        return "250 OK"

    def texts(self, address):
        return [
            message_from_bytes(content, policy=policy.default).get_body(("plain",)).get_content()
            for addresses, content in list(self.mails)
            if address in addresses
        ]

    def token(self, address):
        """The token in the last mail to the address, once there is one."""
        wait_until(lambda: self.texts(address))
        return re.search(r"#token=(\S+)", self.texts(address)[-1])[1]


class There(httpx.HTTPTransport):
    """Finds DOMAIN at a machine, as DNS would."""

    def __init__(self, address, certificate):
        super().__init__(verify=ssl.create_default_context(cafile=certificate))
        self.address = address

    def handle_request(self, request):
        url, more = request.url.copy_with(host=self.address), {"sni_hostname": DOMAIN}
        there = httpx.Request(
            request.method, url, headers=request.headers, stream=request.stream, extensions=more
        )
        return super().handle_request(there)


class Site:
    """The service at DOMAIN, on a machine, as its clients see it."""

    def __init__(self, machine):
        self.machine, self.mailbox, self.browsers = machine, Mailbox(machine), []
        machine.write("/etc/hosts", f"127.0.0.1 localhost {machine.name} {DOMAIN}\n")
        machine.write("/usr/local/bin/certbot", Path(__file__).with_name("certbot").read_text())
        machine.run("chmod 755 /usr/local/bin/certbot")

    def browser(self):
        certificate = self.machine.root / "etc/letsencrypt/live" / DOMAIN / "fullchain.pem"
        transport = There(self.machine.address, certificate)
        browser = httpx.Client(base_url=f"https://{DOMAIN}", transport=transport, timeout=30)
        self.browsers.append(browser)
        return browser

    def health(self):
        with self.browser() as browser:
            return browser.get("/health")

    def close(self):
        self.mailbox.controller.stop()
        for browser in self.browsers:
            browser.close()
