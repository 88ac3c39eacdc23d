"""Three hosts and the servers that they share, each in a network namespace of its own.

The tests and the two servers are in the centre. From there a cable leads to each host for
requests, another from its Redis, and a third from its PostgreSQL, so that each can be pulled alone.
"""

import contextlib
import ctypes
import itertools
import os
import subprocess
from pathlib import Path

import pytest

from tests import servers
from tests.cast import PASSWORD
from tests.requests import ask
from tests.services import Service

LIBC = ctypes.CDLL(None, use_errno=True)  # os.setns() is Python 3.12's
CLONE_NEWNET = 0x40000000
CABLES = {"web": 1, "redis": 2, "db": 3}  # and the subnets 10.77.<cable><host>.0/24
OPERATOR = {"email": "ada@example.com", "password": PASSWORD}
SHARED = {
    "SECRET_KEY": "the same on every host, as it has to be",
    "BIND": "0.0.0.0",
    "WEB_THREADS": "4",
    "TRUSTED_PROXY_COUNT": "1",
    "RATE_LIMIT_AUTHENTICATED": "1000000",
    "RATE_LIMIT_PUBLIC": "100",
    "RATE_LIMIT_CREDENTIAL": "12",
    "LIMITER_PROCESSES": "3",
    "INVITATIONS_PER_DAY": "1000000",
    "MAIL_PER_ADDRESS_PER_HOUR": "1000",
}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def move_to(namespace):
    if LIBC.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(namespace):
    """Sockets, threads and processes that this thread makes meanwhile live in that network."""
    with Path("/proc/thread-self/ns/net").open() as before:
        with Path("/run/netns", namespace).open() as there:
            move_to(there.fileno())
        try:
            yield
        finally:
            move_to(before.fileno())


class Host(Service):
    """One host: a gunicorn and a worker of its own, and its three cables."""

    def __init__(self, folder, centre, number, ports):
        self.centre, self.number = centre, number
        self.namespace = f"{centre}-{number}"
        ip("netns", "add", self.namespace)
        ip("-n", self.namespace, "link", "set", "lo", "up")
        for cable in CABLES:
            self.lay(cable)
        super().__init__(
            folder,
            DATABASE_URL=f"postgres://postgres@{self.near('db')}:{ports['db']}/postgres",
            REDIS_URL=f"redis://{self.near('redis')}:{ports['redis']}/0",
            ALLOWED_HOSTS=self.far("web"),
            **SHARED,
        )
        self.url = f"http://{self.far('web')}:{self.port}"

    def near(self, cable):
        """The address of a cable's end in the centre."""
        return f"10.77.{CABLES[cable]}{self.number}.1"

    def far(self, cable):
        """The address of a cable's end at the host."""
        return f"10.77.{CABLES[cable]}{self.number}.2"

    def lay(self, cable):
        here, there = (self.centre, f"{cable}{self.number}"), (self.namespace, cable)
        pair = ["add", here[1], "netns", here[0], "type", "veth", "peer", there[1]]
        ip("link", *pair, "netns", there[0])
        for (namespace, device), address in zip(
            (here, there), (self.near(cable), self.far(cable)), strict=True
        ):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", device)
            ip("-n", namespace, "link", "set", device, "up")

    @contextlib.contextmanager
    def cut_off_from(self, cable):
        """The cable is pulled out in the centre: what the host sends gets lost, unanswered."""
        device = ["link", "set", f"{cable}{self.number}"]
        ip("-n", self.centre, *device, "down")
        try:
            yield
        finally:
            ip("-n", self.centre, *device, "up")

    def spawn(self, *command, **options):
        with inside(self.namespace):
            return super().spawn(*command, **options)

    def manage(self, *words):
        with inside(self.namespace):
            return super().manage(*words)

    def start(self):
        with inside(self.namespace):
            super().start()
        self.mail_worker = self.spawn("manage.py", "runworker")
        return self

    def restart(self):
        """End both programs as systemd does, and start them as a new release would."""
        for process in (self.server, self.mail_worker):
            process.terminate()
            assert process.wait(20) == 0
        self.start()

    def health(self):
        return ask(self.url, "GET", "/health").json()

    def ask(self, client, method, path, body=None, **headers):
        """The answer to a client at that address."""
        return ask(self.url, method, path, body, X_Forwarded_For=client, **headers)

    def status(self, token):
        """What it says to the bearer of the token."""
        return self.ask("192.0.2.1", "GET", "/auth/me", Authorization=f"Bearer {token}").status


class Balancer:
    """Round robin over hosts, as a proxy that says who is calling."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.turns = itertools.count()

    def ask(self, client, method, path, body=None, **headers):
        """The next host's answer to a client at that address."""
        hosts = self.hosts
        return hosts[next(self.turns) % len(hosts)].ask(client, method, path, body, **headers)

    def log_in(self, client="192.0.2.1"):
        """An access token of the operator, by the next host."""
        answer = self.ask(client, "POST", "/auth/login", OPERATOR)
        assert answer.status == 200, (answer, [host.log[-2000:] for host in self.hosts])
        return answer.json()["access_token"]


@pytest.fixture(scope="package")
def centre():
    """A namespace that the tests themselves, and what they start, are in from here on."""
    name = f"consulting-{os.getpid()}"
    try:
        ip("netns", "add", name)
    except FileNotFoundError:
        pytest.fail("there is no `ip` (Debian's iproute2)")
    except subprocess.CalledProcessError as error:
        pytest.fail(f"no network namespaces here: {error.stderr.strip()}")
    ip("-n", name, "link", "set", "lo", "up")
    with inside(name):
        yield name
    for namespace in Path("/run/netns").glob(f"{name}*"):  # the hosts', too
        ip("netns", "del", namespace.name)


@pytest.fixture(scope="package")
def store(centre):
    store = servers.RedisServer(None, "--bind", "0.0.0.0", "--protected-mode", "no")
    yield store
    store.stop()


@pytest.fixture(scope="package")
def database(centre):
    database = servers.PostgresServer("hosts")
    with (database.data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all samenet trust\n")
    database.execute("ALTER SYSTEM SET listen_addresses = '*'")
    database.stop()
    database.start()
    yield database
    database.stop()


@pytest.fixture(scope="package")
def hosts(centre, store, database, tmp_path_factory):
    """Three that run; the operator is there."""
    ports = {"redis": store.port, "db": database.port}
    hosts = [Host(tmp_path_factory.mktemp("host"), centre, n, ports) for n in (1, 2, 3)]
    try:
        hosts[0].manage("migrate", "-v0")
        hosts[0].add_operator()
        for host in hosts:
            host.start()
        yield hosts
    finally:
        for host in hosts:
            host.stop()


@pytest.fixture
def balancer(hosts):
    return Balancer(list(hosts))


@pytest.fixture(autouse=True)
def fresh_limits(store):
    """Each test begins with no request counted on any host."""
    store.client.flushall()
