"""Calls to servers whose addresses users have given: metadata documents and identity providers.

The URL is untrusted. It must be https, and port 443 of public addresses only, which are looked up
once, checked and then connected to. Redirects are not followed.
"""

import http.client
import json
import math
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, urlencode

from django.db import connection

from base.urls import split_url, web_origin

MAX_ADDRESSES = 4
HEAD_BYTES = 16 * 1024  # of status line, headers and framing, beside a body
# A party isn't called after so many time-outs in a row, within so many seconds.
MAX_TIMEOUTS, TIMEOUT_SECONDS = 3, 60
ASSIGNED_IPV6 = ip_network("2000::/3")  # all of IPv6 that IANA has assigned; Python counts more
# Metadata services of clouds: Azure's at a public address, Oracle's at a reserved one, which older
# releases of Python do not know as such. Then Teredo and 6to4, which embed IPv4 addresses.
NOT_PUBLIC_NETWORKS = [
    ip_network(network) for network in ("168.63.129.16", "192.0.0.0/24", "2001::/32", "2002::/16")
]
REQUEST_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "consulting",
}


class CallFailed(Exception):
    """There is no usable answer; `reason` is one of a few words for users and logs: `url` (not an
    https URL that may be called), `busy` (with other calls), `unreachable` (also at a private
    address: nobody learns which names lead inside), `certificate`, `timeout`, `status`, `too_large`
    or `no_document`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class HttpAnswer:
    """A complete answer of any status."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def document(self, status: int = 200) -> dict[str, Any]:
        """The JSON object in an answer with this status. Raises CallFailed."""
        if self.status != status:
            raise CallFailed("status")
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise CallFailed("no_document")
        return found


class BoundedSocket(ssl.SSLSocket):
    """A TLS connection that raises CallFailed once more than `bytes_left` were read from it.

    `http.client` bounds neither headers, which it keeps several times, nor interim answers and
    trailers.
    """

    bytes_left = 0

    def recv_into(self, *args: Any, **options: Any) -> int:
        size = super().recv_into(*args, **options)
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise CallFailed("too_large")
        return size


@cache
def tls_context() -> ssl.SSLContext:
    """The process's only one, since loading the authorities takes 55 ms of CPU."""
    context = ssl.create_default_context()
    context.sslsocket_class = BoundedSocket
    return context


end_of_calls: ContextVar[float] = ContextVar("end_of_calls", default=math.inf)


@contextmanager
def finish_calls_within(seconds: float) -> Iterator[None]:
    """Let all calls in its block time out `seconds` after its begin, or before by their own."""
    token = end_of_calls.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        end_of_calls.reset(token)


class HttpClient:
    """Makes calls for one purpose. Its threads limit how many run at a time; a thread that waits
    for a slow name server outlives its request. A call takes `seconds` at most, its answer has a
    body of `most_bytes` at most, and of HEAD_BYTES more with its headers and framing."""

    def __init__(self, name: str, *, seconds: float, most_bytes: int, at_a_time: int = 16) -> None:
        self.seconds, self.most_bytes, self.at_a_time = seconds, most_bytes, at_a_time
        self.threads = ThreadPoolExecutor(at_a_time, name)
        self.lock = threading.Lock()
        self.running: Counter[str] = Counter()  # by party
        self.timeouts: list[tuple[str, float]] = []  # parties, and when a call to them timed out

    def fetch(
        self,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        private_origins: Collection[str] = (),
        party: str = "",
    ) -> HttpAnswer:
        """The answer to a GET or, with `form`, a POST. Raises CallFailed.

        URLs of `private_origins` may have private addresses and any port. `party` names whose
        server it is; else each origin is one. While it waits, no database connection is held.
        """
        parts = parse_url(url, private_origins)
        origin = web_origin(url)
        is_private, party = origin in private_origins, party or origin
        deadline = min(time.monotonic() + self.seconds, end_of_calls.get())
        release_database()
        self.take_slot(party)
        call = HttpCall(parts, form, REQUEST_HEADERS | dict(headers or {}), is_private)
        running = self.threads.submit(call.run, deadline, self.most_bytes)
        running.add_done_callback(lambda _: self.free_slot(party))
        try:
            answer = running.result(deadline - time.monotonic())
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = "timeout" if time.monotonic() >= deadline else reason_of(error)
            self.record_call(party, timed_out=reason == "timeout")
            raise CallFailed(reason) from None
        self.record_call(party, timed_out=False)
        return answer

    def take_slot(self, party: str) -> None:
        """Raises CallFailed if the party's latest calls timed out, or too many are running. A party
        may have a third of the free slots, so that those with slow servers leave some to others.
        """
        with self.lock:
            since = time.monotonic() - TIMEOUT_SECONDS
            if sum(name == party and at > since for name, at in self.timeouts) >= MAX_TIMEOUTS:
                raise CallFailed("timeout")
            if self.running[party] >= (self.at_a_time - self.running.total()) // 3:
                raise CallFailed("busy")
            self.running[party] += 1

    def record_call(self, party: str, *, timed_out: bool) -> None:
        """Remember a time-out for TIMEOUT_SECONDS, or until the party answers a call."""
        with self.lock:
            now = time.monotonic()
            recent = [(name, at) for name, at in self.timeouts if at > now - TIMEOUT_SECONDS]
            if timed_out:
                self.timeouts = [*recent, (party, now)]
            else:
                self.timeouts = [(name, at) for name, at in recent if name != party]

    def free_slot(self, party: str) -> None:
        with self.lock:
            self.running[party] -= 1
            self.running += Counter()  # drops parties without calls


def release_database() -> None:
    """Give the database connection back before waiting for others; the next query takes one."""
    if not connection.in_atomic_block:
        connection.close()


def reason_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate"
    if isinstance(error, TimeoutError):
        return "timeout"
    return "unreachable"


def parse_url(url: object, private_origins: Collection[str]) -> SplitResult:
    """The parts of an https URL with a plain host and without a user, on port 443 and at no private
    address unless it is of `private_origins`. The addresses of a name are looked up at each call.
    Raises CallFailed for any other."""
    parts = split_url(url) if isinstance(url, str) else None
    if parts is None or parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise CallFailed("url")
    if web_origin(parts.geturl()) in private_origins:
        return parts
    if parts.port not in {None, 443}:
        raise CallFailed("url")
    with suppress(ValueError):  # of a name
        if not is_public(parts.hostname):
            raise CallFailed("unreachable")
    return parts


@dataclass(frozen=True)
class HttpCall:
    parts: SplitResult
    form: Mapping[str, str] | None
    headers: dict[str, str]
    is_private: bool

    def run(self, deadline: float, most_bytes: int) -> HttpAnswer:
        """Raises CallFailed, OSError, ValueError or HTTPException if there is no whole answer."""
        host, port = str(self.parts.hostname), self.parts.port or 443
        plain, context = self.connect(host, port, deadline), tls_context()
        wrapped = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        with closing(wrapped) as wire:
            vars(wire)["bytes_left"] = most_bytes + HEAD_BYTES
            # A server that sends a byte a second keeps within every timeout of a single read.
            left = deadline - time.monotonic()
            watch = threading.Timer(left, shut_down, [wire])
            watch.daemon = True
            watch.start()
            try:
                wire.do_handshake()
                to_server = http.client.HTTPSConnection(host, port)
                to_server.sock = wire
                self.send(to_server)
                with closing(to_server.getresponse()) as response:
                    body = bytearray(most_bytes + 1)
                    size = response.readinto(body)  # `read` takes all of a chunk of -1 bytes
                    if size > most_bytes:
                        raise CallFailed("too_large")
                    return HttpAnswer(response.status, response.headers, bytes(body[:size]))
            finally:
                watch.cancel()

    def connect(self, host: str, port: int, deadline: float) -> socket.socket:
        """A connection to the first of the host's addresses that answers, each in its part of the
        time that is left. All must be allowed."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not (self.is_private or all(map(is_public, addresses))):
            raise CallFailed("unreachable")
        addresses = addresses[:MAX_ADDRESSES]
        for number, address in enumerate(addresses):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                plain = socket.create_connection((address, port), left / (len(addresses) - number))
            except OSError:
                continue
            plain.settimeout(left)
            return plain
        raise OSError("no answer")

    def send(self, to_server: http.client.HTTPSConnection) -> None:
        target = (self.parts.path or "/") + (f"?{self.parts.query}" if self.parts.query else "")
        if self.form is None:
            to_server.request("GET", target, headers=self.headers)
        else:
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            to_server.request("POST", target, urlencode(self.form), self.headers | kind)


def shut_down(wire: socket.socket) -> None:
    with suppress(OSError):  # it was closed at this moment
        socket.socket.shutdown(wire, socket.SHUT_RDWR)


def is_public(address: str) -> bool:
    """Whether an address is on the public internet. IPv6 addresses that embed an IPv4 address don't
    count as public."""
    ip = ip_address(address.partition("%")[0])
    if ip.version == 6 and ip not in ASSIGNED_IPV6:
        return False
    is_listed = any(ip in network for network in NOT_PUBLIC_NETWORKS)
    return ip.is_global and not ip.is_multicast and not is_listed
