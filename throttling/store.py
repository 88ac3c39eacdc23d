"""Counting in Redis, for all processes and hosts: one script, one key and one round trip.

A decision waits for the store no longer than `BUDGET`, which the timeouts of its steps keep: a
command on a connection that stands has all of it, the steps on a new one share it. What a thread
waits for the interpreter or a processor meanwhile is not the store's silence, and not counted.
"""

import hashlib
import math
import time
from collections import deque
from pathlib import Path
from typing import Any

from django.conf import settings
from redis import Connection, SSLConnection
from redis.cluster import RedisCluster
from redis.exceptions import (
    AskError,
    ClusterDownError,
    NoScriptError,
    RedisClusterException,
    RedisError,
)
from redis.exceptions import ConnectionError as StoreError
from redis.exceptions import TimeoutError as StoreTimeout

from throttling.topology import PATIENCE, Client, Endpoint, Options, topology

BUDGET = 0.1  # seconds, of which on a new connection:
CONNECTING = 0.08 * BUDGET
HANDSHAKES = 0.4 * BUDGET  # TLS, AUTH and SELECT together
LEAST = 0.1 * BUDGET  # for a command; with less left after the steps before, it is not sent
REFRESH_PATIENCE = 0.5  # seconds that a look may wait, on which no request waits
SCRIPT = Path(__file__).with_name("window.lua").read_text(encoding="utf-8")
SHA = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()  # EVALSHA's name for it
Count = tuple[int, int]  # the requests in a window, the milliseconds until it ends
TIERS = ("authenticated", "public", "credential")
key_of = "throttle:{}:{}".format  # of a tier and a caller: where the requests are counted


class Server:
    """One redis-server, and the connections to it that nobody uses at the moment."""

    def __init__(self, endpoint: Endpoint, options: Options) -> None:
        options = dict(options)
        tls = options.pop("ssl", False)
        handshakes = sum(map(bool, [tls, options.get("password"), options.get("db")]))
        self.kind = SSLConnection if tls else Connection
        self.options = options | {
            "host": endpoint[0],
            "port": endpoint[1],
            "socket_connect_timeout": CONNECTING,
            "socket_timeout": HANDSHAKES / max(1, handshakes),
            "health_check_interval": 0,  # each decision is one
        }
        self.opening = CONNECTING + (HANDSHAKES if handshakes else 0)
        self.standing: deque[Connection] = deque()
        self.is_suspect = False  # a connection has failed; what one has met, others would meet

    def ask(self, *command: str | int, seconds: float = BUDGET, asking: bool = False) -> Count:
        """The answer to a command, on a connection that stands where there is one.

        A server may have hung up on that one since: the command then goes out again on a new one.
        At worst, where it hung up with the command in its hands, a request counts twice.
        """
        begin = time.monotonic()
        failure: RedisError | None = None
        if connection := self.pop():
            try:
                return self.ask_on(connection, command, seconds, asking)
            except StoreError as error:
                failure = error
                seconds -= time.monotonic() - begin
        if seconds < self.opening + LEAST:
            raise failure or StoreTimeout("no time is left to connect")
        answer = self.ask_on(self.connect(), command, seconds - self.opening, asking)
        self.is_suspect = False
        return answer

    def ask_on(
        self, connection: Connection, command: tuple[str | int, ...], seconds: float, asking: bool
    ) -> Count:
        """Only a connection that has answered is used again."""
        try:
            if asking:
                seconds /= 2
                connection.send_command("ASKING")
                connection.read_response(timeout=seconds)
            connection.send_command(*command)
            used, left = read(connection, seconds)
        except (NoScriptError, AskError, ClusterDownError):
            self.standing.append(connection)
            raise
        except BaseException:
            self.is_suspect = True
            connection.disconnect()
            raise
        self.standing.append(connection)
        return used, left

    def pop(self) -> Connection | None:
        """A connection that stands, or None."""
        try:
            return self.standing.pop()
        except IndexError:
            return None

    def connect(self, **patience: Any) -> Connection:
        connection = self.kind(**self.options | patience)
        connection.connect()
        return connection

    def warm_up(self, number: int) -> None:
        """Have so many connections stand before a request needs one. Nobody waits: a server that
        all processes greet with TLS at once, having just been elected, may take its time."""
        while len(self.standing) < number:
            self.standing.append(self.connect(**PATIENCE))

    def disconnect(self) -> None:
        """Drop what stands."""
        self.is_suspect = False
        while connection := self.pop():
            connection.disconnect()


class Store:
    """The counts in Redis. Raises what redis-py raises, StoreTimeout among it."""

    def __init__(self) -> None:
        self.topology, self.options = topology()
        self.is_outdated = True  # nobody has looked where the servers are since they moved
        self.servers: dict[Endpoint, Server] = {}
        self.failed: Endpoint | None = None  # of them, the last one

    def count(self, key: str, milliseconds: int, seconds: float = BUDGET) -> Count:
        """Count a request in a window of so many milliseconds; wait for so many seconds."""
        begin = time.monotonic()

        def left() -> float:
            return max(LEAST, seconds - (time.monotonic() - begin))

        server = self.server(self.topology.server_for(key))
        try:
            return server.ask("EVALSHA", SHA, 1, key, milliseconds, seconds=seconds)
        except NoScriptError:  # a new or emptied store
            return server.ask("EVAL", SCRIPT, 1, key, milliseconds, seconds=left())
        except AskError as elsewhere:  # a Cluster's: the key's slot moves, or has moved (MOVED)
            self.is_outdated = True
            server = self.server(elsewhere.node_addr)
            return server.ask("EVAL", SCRIPT, 1, key, milliseconds, seconds=left(), asking=True)

    def server(self, endpoint: Endpoint) -> Server:
        if endpoint not in self.servers:
            self.servers[endpoint] = Server(endpoint, self.options)
        return self.servers[endpoint]

    def refresh(self) -> None:
        """Find out where the servers are, if need be, and have each of them count something: one
        that is full or read-only would still answer a PING."""
        if self.is_outdated:
            self.topology.find(self.failed)
        for key in self.topology.probes():
            self.server(self.topology.server_for(key)).warm_up(1)
            self.count(key, 1000, REFRESH_PATIENCE)
        if self.is_outdated:
            self.warm_up()
            self.is_outdated = False

    def warm_up(self) -> None:
        for key in self.topology.probes():
            self.server(self.topology.server_for(key)).warm_up(settings.WEB_THREADS)

    def lost(self) -> None:
        """Begin anew with the server that has failed; perhaps the store moves. A Cluster's others
        stay connected, or as many TLS handshakes would delay the new master."""
        self.is_outdated = True
        for endpoint, server in list(self.servers.items()):
            if server.is_suspect:
                self.failed = endpoint
                server.disconnect()


def read(connection: Connection, seconds: float) -> Any:
    """The answer, with a last look before giving up: while this thread waited for its turn after
    so many seconds of the store's silence, it may have come."""
    try:
        return connection.read_response(disconnect_on_error=False, timeout=seconds)
    except StoreTimeout:
        return connection.read_response(timeout=0)


class NoStore(Exception):
    """There are no counts that this process could see."""


def store_client() -> Client:
    """The store's client, for operators' commands. Raises NoStore where counts are in process."""
    if not settings.REDIS_URL:
        raise NoStore("Without REDIS_URL the server process counts; restarting it clears.")
    try:
        return topology()[0].client()
    except (RedisError, RedisClusterException) as error:  # a Cluster's client looks for its nodes
        raise NoStore(f"The store does not answer: {type(error).__name__}.") from None


def answers_from() -> str:
    """The endpoint of the server that counts now, and its role; of all masters in a Cluster.

    Raises NoStore as `look_up` does.
    """
    with store_client() as client:
        if isinstance(client, RedisCluster):
            masters = client.get_primaries()
            return ", ".join(node.name for node in masters) + ", each a master"
        try:
            endpoint, role = client.client_info()["laddr"], client.info("replication")["role"]
        except RedisError as error:
            raise NoStore(f"The store does not answer: {type(error).__name__}.") from None
    return f"{endpoint}, a {role}"


def look_up(caller: str) -> dict[str, tuple[int, int]]:
    """By tier, the caller's requests in the window and the window's seconds left, rounded up.

    Raises NoStore, also when the store does not answer.
    """
    try:
        with store_client() as client, client.pipeline(transaction=False) as pipeline:
            for tier in TIERS:
                pipeline.get(key_of(tier, caller))
                pipeline.pttl(key_of(tier, caller))
            answers = pipeline.execute()
    except RedisError as error:
        raise NoStore(f"The store does not answer: {type(error).__name__}.") from None
    counts = zip(TIERS, answers[::2], answers[1::2], strict=True)
    return {tier: (int(used), math.ceil(left / 1000)) for tier, used, left in counts if used}


def clear(caller: str) -> None:
    """Forget the caller's requests in every tier: at once here, within a second in a server that
    refuses the caller from memory. Raises NoStore as `look_up` does."""
    try:
        with store_client() as client:
            client.delete(*(key_of(tier, caller) for tier in TIERS))
    except RedisError as error:
        raise NoStore(f"The store does not answer: {type(error).__name__}.") from None
