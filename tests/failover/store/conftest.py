"""Sentinels and Clusters of real processes, and a service under load that counts in them."""

import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.conftest import Service
from tests.servers import RedisServer
from tests.throttling.conftest import Answer, at_once, message

LIMIT = 8
LOST, FOUND = "the limiter's store is lost", "the limiter's store answers again"


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """What the condition gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


class SentinelServer(RedisServer):
    """A redis-server as Sentinel: it watches the master of `mymaster`."""

    def __init__(self, folder: Path, master: int) -> None:
        self.folder, self.master = folder, master
        super().__init__()

    def words(self) -> list[str]:
        path = self.folder / f"sentinel-{self.port}.conf"  # a Sentinel writes into it
        path.write_text(
            f"port {self.port}\nbind 127.0.0.1\nrequirepass watchword\n"
            "sentinel sentinel-pass watchword\n"
            f"sentinel monitor mymaster 127.0.0.1 {self.master} 2\n"
            "sentinel auth-pass mymaster secret\n"
            "sentinel down-after-milliseconds mymaster 500\n"
            "sentinel failover-timeout mymaster 2000\n"
        )
        return [str(path), "--sentinel"]


class Watched:
    """A master, its replica and three Sentinels, all with passwords."""

    def __init__(self, folder: Path) -> None:
        login = ["--requirepass", "secret", "--masterauth", "secret"]
        self.master = RedisServer(None, *login)
        self.replica = RedisServer(None, *login, "--replicaof", "127.0.0.1", f"{self.master.port}")
        self.sentinels = [SentinelServer(folder, self.master.port) for _ in range(3)]
        self.clients = [Redis(port=s.port, password="watchword") for s in self.sentinels]
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        self.url = f"redis+sentinel://:secret@{hosts}/mymaster/1?sentinel_password=watchword"

    def form(self) -> None:
        until(lambda: all(self.knows_everybody(client) for client in self.clients))

    def knows_everybody(self, client: Any) -> bool:
        state = client.sentinel_masters()["mymaster"]
        return bool(state["num-slaves"] == 1 and state["num-other-sentinels"] == 2)

    def has_elected(self) -> bool:
        """Whether a majority of the Sentinels name the replica."""
        named = [client.sentinel_get_master_addr_by_name("mymaster") for client in self.clients]
        return sum(address[1] == self.replica.port for address in named if address) >= 2

    def stop(self) -> None:
        for client in self.clients:
            client.close()
        for server in [*self.sentinels, self.replica, self.master]:
            server.process.send_signal(signal.SIGCONT)
            server.stop()


def node_port() -> int:
    """A free port whose Cluster bus (10,000 above it) is free too, and below what the kernel gives
    to connections on their way out."""
    while True:
        port = random.randrange(10_000, 20_000)
        if all(is_free(number) for number in (port, port + 10_000)):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Nodes:
    """A Cluster of three masters; the first has a replica."""

    def __init__(self, folder: Path) -> None:
        self.servers = [self.node(folder) for _ in range(4)]
        self.clients = [Redis(port=server.port) for server in self.servers]
        self.master, self.replica = self.servers[0], self.servers[3]
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{s.port}" for s in self.servers)

    def form(self) -> None:
        self.ids = [str(c.execute_command("CLUSTER MYID"), "ascii") for c in self.clients]
        for number, client in enumerate(self.clients[:3]):
            slots = range(number * 16384 // 3, (number + 1) * 16384 // 3)
            client.execute_command("CLUSTER ADDSLOTS", *slots)
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER MEET", "127.0.0.1", self.replica.port)
        until(lambda: all(len(self.lines(client)) == 4 for client in self.clients))
        self.clients[3].execute_command("CLUSTER REPLICATE", self.ids[0])
        until(lambda: all(self.is_complete(client) for client in self.clients))

    def node(self, folder: Path) -> RedisServer:
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"]
        number = len(list(folder.iterdir()))
        path = folder / f"nodes-{number}.conf"
        path.touch()
        return RedisServer(node_port(), *options, "--cluster-config-file", str(path))

    def lines(self, client: Any) -> dict[str, Any]:
        found: dict[str, Any] = client.cluster("NODES")
        return found

    def is_complete(self, client: Any) -> bool:
        roles = [node["flags"] for node in self.lines(client).values()]
        replicas = sum("slave" in flags for flags in roles)
        return client.cluster("INFO")["cluster_state"] == "ok" and replicas == 1

    def has_elected(self) -> bool:
        """Whether the other masters take the replica for one."""
        return all(
            "master" in node["flags"]
            for client in self.clients[1:3]
            for node in self.lines(client).values()
            if node["node_id"] == self.ids[3]
        )

    def stop(self) -> None:
        for client in self.clients:
            client.close()
        for server in self.servers:
            server.process.send_signal(signal.SIGCONT)
            server.stop()


def formed(kind: type[Any], folder: Path) -> Iterator[Any]:
    """Servers of a kind that have found each other; they end with the test."""
    folder.mkdir()
    servers = kind(folder)
    try:
        servers.form()
        yield servers
    finally:
        servers.stop()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    yield from formed(Watched, tmp_path / "redis")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Nodes]:
    yield from formed(Nodes, tmp_path / "redis")


@pytest.fixture
def two(new_service: Callable[..., Service]) -> Callable[[str], Service]:
    """Starts two processes that count in the store of an address."""

    def start(url: str) -> Service:
        return new_service(
            REDIS_URL=url,
            WEB_CONCURRENCY="2",
            TRUSTED_PROXY_COUNT="1",
            RATE_LIMIT_PUBLIC="1000",
            RATE_LIMIT_CREDENTIAL=str(LIMIT),
        ).start()

    return start


def log_in(address: str) -> bytes:
    return message("POST", "/auth/login", {}, X_Forwarded_For=address)


def let_through(service: Service, address: str) -> int:
    """Of thirty log-ins at once from an address."""
    answers = at_once(service, [log_in(address)] * 30)
    assert {answer.status_code for answer in answers} <= {400, 429}
    return sum(answer.status_code == 400 for answer in answers)


class Load:
    """Calls from many addresses, one after another, until the block ends."""

    def __init__(self, service: Service) -> None:
        self.service, self.answers, self.ended = service, list[Answer](), threading.Event()

    def __enter__(self) -> "Load":
        self.said = len(self.service.log)
        self.thread = threading.Thread(target=self.call)
        self.thread.start()
        return self

    def call(self) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            address = f"10.0.{number // 250 % 250}.{number % 250}"
            calls = [message("GET", "/nope", X_Forwarded_For=address), log_in(address)] * 2
            self.answers += at_once(self.service, calls)
            time.sleep(0.01)

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()

    def statuses(self) -> set[int]:
        return {answer.status_code for answer in self.answers}

    def slowest(self) -> float:
        """Seconds that a request took in its thread."""
        log = self.service.log[self.said :]
        return max(float(ms) for ms in re.findall(r"ms=([\d.]+)", log)) / 1000
