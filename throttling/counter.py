"""How many requests a caller has made: counted in Redis or in process, and the rule that chooses.

A window is fixed and begins with its first request. Redis counts with one atomic script, one key
and one round trip, so the count is exact over processes and hosts. Nothing that happens to the
store reaches the caller, and no decision waits longer than `BUDGET` for it to say a word.
"""

import functools
import logging
import math
import os
import socket
import ssl
import struct
import threading
import time
import types
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from django.conf import settings
from django_redis import get_redis_connection
from redis.connection import AbstractConnection, SSLConnection
from redis.exceptions import ConnectionError as StoreError
from redis.exceptions import NoScriptError, RedisError
from redis.exceptions import TimeoutError as StoreTimeout

logger = logging.getLogger("throttling")

BUDGET = 0.1  # seconds that one decision may wait on the store, connecting included
TIMEVAL = struct.pack("ll", 0, round(BUDGET * 1_000_000))  # of setsockopt(2): s, µs
SCRIPT = Path(__file__).with_name("window.lua").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of one count: `reset` is in whole seconds, rounded up, from 1 to the window."""

    allowed: bool
    limit: int
    remaining: int
    reset: int

    @classmethod
    def of(cls, used: int, limit: int, seconds_left: float, window: int) -> "Decision":
        """Decide on the `used`-th request (1 is the first) of a window."""
        reset = min(window, max(1, math.ceil(seconds_left)))
        return cls(used <= limit, limit, max(0, limit - used), reset)

    def headers(self) -> dict[str, str]:
        """The three headers that every allowed answer carries."""
        return {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-reset": str(self.reset),
        }


class ProcessCounter:
    """Counts in this process's memory, for its threads.

    All windows are equally long, so the dictionary's order of insertion is that of expiry: what
    has ended is dropped from its front, and so is the oldest count when there are too many.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        self.capacity = capacity  # about 250 bytes each
        self.lock = threading.Lock()
        self.counts: OrderedDict[str, tuple[float, int]] = OrderedDict()  # (its end, requests)

    def count(self, key: str, limit: int, window: int) -> Decision:
        """Count a request; `window` is in seconds."""
        now = time.monotonic()
        with self.lock:
            while self.counts and next(iter(self.counts.values()))[0] <= now:
                self.counts.popitem(last=False)
            end, used = self.counts.get(key, (now + window, 0))
            self.counts[key] = end, used + 1
            if len(self.counts) > self.capacity:
                self.counts.popitem(last=False)
        return Decision.of(used + 1, limit, end - now, window)


class StoreConnection(AbstractConnection):
    """A connection that shares one deadline among all its steps.

    A timeout for each step adds up: a server that is slow to accept, to authenticate, to select
    its database and to answer would cost a request four of them.
    """

    deadline = math.inf  # on the monotonic clock
    tls: ssl.SSLContext | None = None

    def left(self) -> float:
        """Seconds for the next step. Never 0, which a socket takes for "do not wait"."""
        return min(BUDGET, max(0.001, self.deadline - time.monotonic()))

    @property  # type: ignore[misc]  # nothing sets it
    def socket_connect_timeout(self) -> float:
        return self.left()

    @property  # type: ignore[misc]  # nothing sets it
    def socket_timeout(self) -> float | None:
        return self._sock.gettimeout() if self._sock else self.left()

    def _connect(self) -> Any:
        """Connect, and leave it to the kernel to keep the time of what follows.

        A socket with a timeout of Python's polls before it sends, and again before it receives.
        """
        sock = super()._connect()  # type: ignore[no-untyped-call,safe-super]  # has a body there
        if isinstance(sock, ssl.SSLSocket):  # OpenSSL would wait on, whatever the kernel says
            sock.settimeout(BUDGET)
        else:
            sock.settimeout(None)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, TIMEVAL)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, TIMEVAL)
        return sock

    def _wrap_socket_with_ssl(self, sock: Any) -> ssl.SSLSocket:
        """With the context that was made once: to load the system's CAs takes half the budget."""
        if self.tls:
            return self.tls.wrap_socket(sock, server_hostname=self.host)
        return super()._wrap_socket_with_ssl(sock)  # type: ignore[misc,no-any-return]  # TLS has it

    def read_response(self, *args: Any, **options: Any) -> Any:
        # The socket's own timeout is the whole budget. To set another one takes two system calls,
        # so it is left alone where hardly anything of the budget has been used.
        left = self.left()
        if left < 0.95 * BUDGET:
            options["timeout"] = left
        try:
            return super().read_response(*args, **options)
        except StoreError as error:
            if isinstance(error.__context__, BlockingIOError):  # the kernel's way to say it
                raise StoreTimeout(f"no answer within {BUDGET} s") from None
            raise


def tls_context(connection: Any) -> ssl.SSLContext | None:
    """The context that redis-py makes for a connection, from all that REDIS_URL says; None where
    it makes none, or has more to do (OCSP) than to make it."""
    if not isinstance(connection, SSLConnection):
        return None
    if connection.ssl_validate_ocsp or connection.ssl_validate_ocsp_stapled:
        return None
    make: Callable[[socket.socket], ssl.SSLSocket] = connection._wrap_socket_with_ssl
    with make(socket.socket()) as unconnected:
        return unconnected.context


def has_ended(connection: Any) -> bool:
    """Whether the store has hung up: on an idle connection it has nothing else to say."""
    try:
        return bool(connection.can_read())
    except (RedisError, OSError):
        return True


class RedisCounter:
    """Counts in the store, for every process and host. Raises whatever the store's client does."""

    def __init__(self) -> None:
        client = get_redis_connection("default")
        pool = client.connection_pool
        kind: Any = types.new_class("StoreConnection", (StoreConnection, pool.connection_class))
        self.connect: Callable[[], Any] = functools.partial(kind, **pool.connection_kwargs)
        kind.tls = tls_context(self.connect())
        self.sha = client.register_script(SCRIPT).sha  # sends nothing
        self.forget_connections()

    def forget_connections(self) -> None:
        """Let every thread begin on a new one. What they wait for on the old ones, they get."""
        self.mine = threading.local()

    def count(self, key: str, limit: int, window: int) -> Decision:
        """Count a request; `window` is in seconds."""
        connection = self.connection()
        connection.deadline = time.monotonic() + BUDGET
        try:
            used, milliseconds = self.run(connection, key, window * 1000)
        finally:
            connection.deadline = math.inf
        return Decision.of(used, limit, milliseconds / 1000, window)

    def connection(self) -> Any:
        """This thread's connection, as the database has one a thread: what the client's pool does
        to lend one costs as much as the round trip."""
        mine = self.mine  # which may be another one at any moment
        if not hasattr(mine, "connection"):
            mine.connection = self.connect()
        return mine.connection

    def run(self, connection: Any, key: str, milliseconds: int) -> Any:
        """The script's answer, in one round trip."""
        if connection.is_connected and has_ended(connection):
            connection.disconnect()
        connection.connect()
        try:
            connection.send_command("EVALSHA", self.sha, 1, key, milliseconds)
            return connection.read_response()
        except NoScriptError:  # a new or emptied store
            connection.send_command("EVAL", SCRIPT, 1, key, milliseconds)
            return connection.read_response()


class Breaker:
    """Keeps requests off a store that has failed, all but one that probes now and then.

    It opens at an error, or at the second timeout in a row: a single one may be this machine's own
    hiccup. One log line tells of its opening and one of its closing.
    """

    FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0  # seconds between probes

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_open = False
        self.timeouts = 0
        self.pause = self.FIRST_PAUSE
        self.next_probe = 0.0

    def admits(self) -> bool:
        """Whether this caller may try the store.

        Taking a probe puts the next one off by longer than a probe lasts, so that only one
        caller probes at a time, and none has to report back for the next to go.
        """
        if not self.is_open:
            return True
        with self.lock:
            now = time.monotonic()
            if self.is_open and now < self.next_probe:
                return False
            self.pause = min(self.pause * 2, self.LONGEST_PAUSE)
            self.next_probe = now + self.pause
            return True

    def succeeded(self) -> None:
        """The store has answered: close."""
        if not self.is_open and not self.timeouts:
            return
        with self.lock:
            was_open, self.is_open, self.timeouts = self.is_open, False, 0
        if was_open:
            logger.warning("the limiter's store answers again")

    def failed(self, error: Exception) -> None:
        """The store has not answered, or with an error."""
        with self.lock:
            self.timeouts += 1
            if self.is_open or (isinstance(error, StoreTimeout) and self.timeouts < 2):
                return
            self.is_open = True
            self.pause = self.FIRST_PAUSE
            self.next_probe = time.monotonic() + self.pause
        logger.warning(
            "the limiter's store is lost, credential calls are counted in process: %s: %s",
            type(error).__name__,
            error,
        )


class NoStore(Exception):
    """There are no counts that this process could see."""


TIERS = ("authenticated", "public", "credential")


class Limiter:
    """The rule that chooses where to count. One for each process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all counts in process, the store's client and how the store fared."""
        self.breaker = Breaker()
        self.process = ProcessCounter()
        self.__dict__.pop("store", None)

    @functools.cached_property
    def store(self) -> RedisCounter:
        """Made at the first count, since gunicorn loads the application before it forks."""
        return RedisCounter()

    def count(self, tier: str, caller: str, limit: int, *, strict: bool) -> Decision:
        """Count a request of the caller in the tier; `limit` is in requests a window.

        Without the store, a strict tier is counted in process, each process with its share of the
        limit, so that an outage does not multiply it; any other is let through.
        """
        key = f"throttle:{tier}:{caller}"
        window: int = settings.RATE_LIMIT_WINDOW_SECONDS
        if settings.REDIS_URL:
            decision = self.ask_store(key, limit, window)
            if decision is not None:
                return decision
            if not strict:
                return Decision(allowed=True, limit=limit, remaining=limit, reset=window)
        if strict:
            limit = max(1, limit // settings.WEB_CONCURRENCY)
        return self.process.count(key, limit, window)

    def ask_store(self, key: str, limit: int, window: int) -> Decision | None:
        """The store's decision, or None where the store has none to give."""
        if not self.breaker.admits():
            return None
        try:
            decision = self.store.count(key, limit, window)
        except Exception as error:  # whatever it is, a limiter must not be what fails a request
            self.breaker.failed(error)
            if self.breaker.is_open and "store" in vars(self):
                # What one connection has met, the others would meet in turn.
                self.store.forget_connections()
            return None
        self.breaker.succeeded()
        return decision

    def state(self) -> Literal["ok", "fallback"]:
        """Whether counting works as configured: `fallback` while the store is lost."""
        return "fallback" if settings.REDIS_URL and self.breaker.is_open else "ok"

    def probe(self) -> None:
        """Try a lost store where a try is due, so that an idle service finds it again too.

        It counts like a request: a store that is full or read-only would still answer a PING.
        """
        if self.state() == "fallback":
            self.ask_store("throttle:probe", 1, 1)


def store_client() -> Any:
    """The store's client, for operators' commands. Raises NoStore where counts are in process."""
    if not settings.REDIS_URL:
        raise NoStore("Without REDIS_URL the server process counts; restarting it clears.")
    return get_redis_connection("default")


def look_up(caller: str) -> dict[str, tuple[int, int]]:
    """By tier, the caller's requests in the window and the window's seconds left, rounded up.

    Raises NoStore, also when the store does not answer.
    """
    try:
        with store_client().pipeline(transaction=False) as pipeline:
            for tier in TIERS:
                pipeline.get(f"throttle:{tier}:{caller}").pttl(f"throttle:{tier}:{caller}")
            answers = pipeline.execute()
    except RedisError as error:
        raise NoStore(f"The store does not answer: {type(error).__name__}.") from None
    counts = zip(TIERS, answers[::2], answers[1::2], strict=True)
    return {tier: (int(used), math.ceil(left / 1000)) for tier, used, left in counts if used}


def clear(caller: str) -> None:
    """Forget the caller's requests in every tier. Raises NoStore as `look_up` does."""
    try:
        store_client().delete(*(f"throttle:{tier}:{caller}" for tier in TIERS))
    except RedisError as error:
        raise NoStore(f"The store does not answer: {type(error).__name__}.") from None


limiter = Limiter()
count, state, probe, reset = limiter.count, limiter.state, limiter.probe, limiter.reset

# A child process must not share its parent's counts, nor a lock that a thread held at the fork.
os.register_at_fork(after_in_child=limiter.reset)
