"""Counts each caller's requests in Redis, or in process while Redis is unavailable. A window has a
fixed length and begins with its first request. A failure of Redis never fails the request."""

import functools
import logging
import math
import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal

from django.conf import settings
from django.db import Error, close_old_connections
from django_redis import get_redis_connection
from redis import Redis
from redis.cluster import ClusterNode, RedisCluster
from redis.sentinel import MasterNotFoundError, Sentinel

from metrics import series
from throttling.models import NetworkLimit

logger = logging.getLogger("throttling")

COUNT_SCRIPT = Path(__file__).with_name("window.lua").read_text(encoding="utf-8")
RETRY_REDIS_SECONDS = 0.5  # seconds between two attempts while Redis is unavailable
REDIS_WAIT_SECONDS = 0.25  # seconds for which a request waits for a Cluster, or during an outage
# Threads that make those requests' calls. They are few, since each opens its own connections to
# every node, and over TLS a new connection takes about 50 ms of CPU.
REDIS_THREADS = 2
READ_LIMITS_SECONDS = 10  # seconds between two readings of the networks' limits
REFUSAL_SECONDS = 5  # seconds, at most, for which a process remembers that a window is used up
WindowCount = tuple[int, float]  # requests in the window, this one included; seconds until it ends


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request is allowed, and the state of its caller's window."""

    allowed: bool
    limit: int  # requests in a window
    remaining: int  # requests that are left in this window
    reset: int  # whole seconds until the window ends, rounded up: 1 to RATE_LIMIT_WINDOW_SECONDS


class ProcessCounter:
    """Counts the requests of at most `capacity` callers in this process's memory, about 200 bytes
    each. All windows have one length."""

    def __init__(self, capacity: int = 50_000) -> None:
        self.capacity = capacity
        self.lock = threading.Lock()
        self.windows: OrderedDict[str, tuple[float, int]] = OrderedDict()  # end, requests

    def count_request(self, key: str, seconds: int) -> WindowCount:
        """Count a request of the caller with this key, in a window of so many seconds, the same in
        every call. Returns the requests in the window, this one included, and the seconds until it
        ends. Beyond `capacity` the oldest window is deleted, and its caller counted from 1 again.
        """
        with self.lock:
            now = time.monotonic()
            while self.windows and next(iter(self.windows.values()))[0] <= now:
                self.windows.popitem(last=False)
            end, used = self.windows.get(key, (now + seconds, 0))
            self.windows[key] = (end, used + 1)
            if len(self.windows) > self.capacity:
                self.windows.popitem(last=False)
        return used + 1, end - now


class RefusedCallers:
    """At most `capacity` callers whose window is used up, in this process's memory: refusing their
    further requests takes no round trip. A used-up window stays so until it ends, unless an
    operator deletes the counter."""

    def __init__(self, capacity: int = 10_000) -> None:
        self.capacity = capacity
        self.lock = threading.Lock()
        # By key: the limit, when the window ends, and when to forget it (both in monotonic time).
        self.windows: OrderedDict[str, tuple[int, float, float]] = OrderedDict()

    def remember(self, key: str, limit: int, seconds: float) -> None:
        """Remember, for REFUSAL_SECONDS at most, that the caller with this key has made all `limit`
        requests of its window, which ends in `seconds`."""
        now = time.monotonic()
        with self.lock:
            self.windows[key] = (limit, now + seconds, now + min(seconds, REFUSAL_SECONDS))
            self.windows.move_to_end(key)
            if len(self.windows) > self.capacity:
                self.windows.popitem(last=False)

    def seconds_left(self, key: str, limit: int) -> float | None:
        """Seconds until the window ends that the caller with this key has used up. None if the
        request must be counted: no refusal is remembered, or one by a lower limit than `limit`."""
        refused_limit, end, forget_at = self.windows.get(key, (0, 0.0, 0.0))
        now = time.monotonic()
        return end - now if now < forget_at and limit <= refused_limit else None


class Limiter:
    """Decides on a process's requests: counts them in Redis, and notices its outages."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the counts and refusals in process, the Redis client and any outage."""
        self.process_counter = ProcessCounter()
        self.refused_callers = RefusedCallers()
        self.lock = threading.Lock()
        # During an outage: when to try Redis again, in monotonic time. None while it is available.
        self.unavailable_until: float | None = None
        self.outage_reason = ""  # why Redis failed last
        for name in ("client", "window_script", "threads"):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def client(self) -> "Redis | RedisCluster":
        """The client for the server, Sentinels or Cluster of REDIS_URL. The first count creates it,
        after gunicorn's fork, so that no two processes share a connection. For a Cluster, raises
        RedisClusterException if no node answers."""
        servers = settings.REDIS_SERVERS
        if servers is None:
            single: Redis = get_redis_connection("default")
            return single
        endpoints = servers["endpoints"]
        options: dict[str, Any] = settings.REDIS_CONNECTION | servers["options"]
        if servers["service"] is None:
            nodes = [ClusterNode(*endpoint) for endpoint in endpoints]
            return RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options)
        # A new connection asks one Sentinel after another, and then has 0.1 s for the master.
        times = dict.fromkeys(["socket_connect_timeout", "socket_timeout"], 0.15 / len(endpoints))
        sentinel_options = settings.REDIS_CONNECTION | servers["sentinel_options"] | times
        sentinel = Sentinel(endpoints, sentinel_kwargs=sentinel_options, **options)
        master: Redis = sentinel.master_for(servers["service"])
        return master

    @functools.cached_property
    def window_script(self) -> Any:
        return self.client.register_script(COUNT_SCRIPT)

    @functools.cached_property
    def threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(REDIS_THREADS, "redis")

    def count_request(self, tier: str, caller: str, limit: int, *, strict: bool) -> Decision:
        """Count a request of the caller, a key such as an address, in the tier, and decide on it.
        Requests beyond `limit` in a window of RATE_LIMIT_WINDOW_SECONDS are refused, except in the
        tiers of RATE_LIMIT_DRY_RUN.

        While Redis is unavailable, a `strict` tier is counted in process, and the process's part of
        the limit counts, also in the Decision; other tiers are allowed without a count. Without
        REDIS_URL all tiers are counted in process, the strict ones by the same part.
        """
        key, window_seconds = f"throttle:{tier}:{caller}", settings.RATE_LIMIT_WINDOW_SECONDS
        if (seconds_left := self.refused_callers.seconds_left(key, limit)) is not None:
            series.decisions.labels(tier, "refused").inc()
            return Decision(False, limit, 0, math.ceil(seconds_left))
        window = self.count_in_redis(key, window_seconds * 1000) if settings.REDIS_URL else None
        if window is None and settings.REDIS_URL and not strict:
            series.decisions.labels(tier, "uncounted").inc()
            return Decision(allowed=True, limit=limit, remaining=limit, reset=window_seconds)
        outcome = "allowed"
        if window is None:
            outcome = "in_process"
            if strict:  # this process's part of the limit
                limit = max(1, limit // (settings.LIMITER_PROCESSES or settings.WEB_CONCURRENCY))
            window = self.process_counter.count_request(key, window_seconds)
        used, seconds_left = window
        if used > limit:
            outcome = self.refuse_or_log(tier, caller, limit, window)
        series.decisions.labels(tier, outcome).inc()
        reset = min(window_seconds, max(1, math.ceil(seconds_left)))
        return Decision(outcome != "refused", limit, max(0, limit - used), reset)

    def refuse_or_log(
        self, tier: str, caller: str, limit: int, window: WindowCount
    ) -> Literal["refused", "would_refuse"]:
        """Remember in this process that the caller, whose window is over the limit, is refused; in
        a tier of RATE_LIMIT_DRY_RUN, only log that it would be. Returns the metrics' outcome."""
        used, seconds_left = window
        is_first = used == limit + 1  # in the caller's window
        if tier in settings.RATE_LIMIT_DRY_RUN:
            if is_first:
                logger.warning("dry run: %s would be refused in the %s tier", caller, tier)
            return "would_refuse"
        if is_first:
            series.callers_refused.labels(tier).inc()
        self.refused_callers.remember(f"throttle:{tier}:{caller}", limit, seconds_left)
        return "refused"

    def count_in_redis(self, key: str, milliseconds: int) -> WindowCount | None:
        """Count a request in the counter at the Redis key `key`, whose window lasts so many
        milliseconds. Returns the requests in the window, this one included, and the seconds until
        it ends; None, and no error, if Redis fails. During the outage after that, one request of
        this process in RETRY_REDIS_SECONDS asks Redis; the others get None at once."""
        retries = self.unavailable_until is not None
        if retries and not self.claim_retry():
            return None
        try:
            servers = settings.REDIS_SERVERS
            is_slow = retries or (servers and not servers["service"])
            run = self.run_in_time if is_slow else self.window_script
            used, milliseconds_left = run(keys=[key], args=[milliseconds])
            window = int(used), int(milliseconds_left) / 1000
        except Exception as error:  # no error of the limiter may fail the request
            self.record_outage(error)
            return None
        if retries:  # an answer to a call from before the outage does not show its end
            self.record_recovery()
        return window

    def run_in_time(self, keys: list[str], args: list[int]) -> Any:
        """Run the script and return its answer. Raises the error of the call, or TimeoutError after
        REDIS_WAIT_SECONDS; Redis may count the request later. Timeouts of sockets do not suffice:
        redis-py asks all nodes of a hanging Cluster in turn, and none bounds a host's look-up."""
        answer = self.threads.submit(lambda: self.window_script(keys=keys, args=args))
        try:
            return answer.result(timeout=REDIS_WAIT_SECONDS)
        finally:
            answer.cancel()  # has an effect only if no thread has begun to run it

    def claim_retry(self) -> bool:
        """Whether the calling request may ask Redis. During an outage this is True once in
        RETRY_REDIS_SECONDS, for one request in the process; after the outage always."""
        with self.lock:
            now = time.monotonic()
            if self.unavailable_until is None:
                return True
            if now < self.unavailable_until:
                return False
            self.unavailable_until = now + RETRY_REDIS_SECONDS
            return True

    def record_outage(self, error: Exception) -> None:
        """Keep the reason, and let no request of this process ask Redis for RETRY_REDIS_SECONDS.
        Only the first failure of an outage is logged."""
        series.store_failures.labels(type(error).__name__).inc()
        with self.lock:
            has_begun = self.unavailable_until is None
            self.unavailable_until = time.monotonic() + RETRY_REDIS_SECONDS
            # redis-py's own message names every Sentinel with all its options.
            has_no_master = isinstance(error, MasterNotFoundError)
            reason = "no Sentinel names a master" if has_no_master else str(error) or "no answer"
            self.outage_reason = f"{type(error).__name__}: {reason}"
        client = self.__dict__.get("client")
        if isinstance(client, Redis):
            # The idle connections would fail as well, each after 0.1 s.
            client.connection_pool.disconnect(inuse_connections=False)
        if has_begun:
            series.store_lost.set(1)
            message = "Redis is unavailable, credential calls are counted in process: %s"
            logger.warning(message, self.outage_reason)

    def record_recovery(self) -> None:
        """After Redis has answered a retry, end the outage in this process."""
        with self.lock:
            was_unavailable = self.unavailable_until is not None
            self.unavailable_until = None
        if was_unavailable:
            series.store_lost.set(0)
            logger.warning("Redis is available again")

    def redis_state(self) -> Literal["ok", "fallback"]:
        """Returns "ok" if counting works as configured, also without REDIS_URL; "fallback" while
        Redis is unavailable. Asks Redis, so that an idle process notices an outage and its end, but
        not within RETRY_REDIS_SECONDS of a failure."""
        # Counts in a window of a millisecond: a full or read-only Redis still answers a PING.
        if settings.REDIS_URL and self.count_in_redis("throttle:probe", 1) is None:
            return "fallback"
        return "ok"


class NetworkLimits:
    """A process's copy of the NetworkLimit rows, which a thread of it reads, so that no request
    waits. While the database is unavailable, the copy stays as it is."""

    def __init__(self) -> None:
        self.rows: list[tuple[IPv4Network | IPv6Network, int]] = []  # the longest prefix first

    def find_limit(self, caller: str) -> int | None:
        """The limit of the smallest network that has one and contains the caller's address or IPv6
        /64. None without such a network, and for a `caller` that is not an address."""
        if not self.rows:
            return None
        try:
            address = ip_network(caller).network_address
        except ValueError:
            return None
        return next((limit for network, limit in self.rows if address in network), None)

    def refresh(self) -> None:
        """Read the rows. Raises Django's Error while the database is unavailable."""
        rows = NetworkLimit.objects.values_list("network", "limit")
        networks = [(ip_network(network, strict=False), limit) for network, limit in rows]
        self.rows = sorted(networks, key=lambda row: -row[0].prefixlen)

    def keep_reading(self) -> None:
        """Read the rows every READ_LIMITS_SECONDS. Never returns, also after an error."""
        while True:
            try:
                self.refresh()
            except Error:  # most often an outage, which every request reports
                pass
            except Exception:
                logger.exception("the limits of networks could not be read")
            close_old_connections()  # gives the connection back to the pool
            time.sleep(READ_LIMITS_SECONDS)


limiter = Limiter()
network_limits = NetworkLimits()

# A child process must not inherit counts, or a lock that a thread held at the fork.
os.register_at_fork(after_in_child=limiter.reset)
