"""Calls to servers whose URLs come from users, and so must lead to port 443 of a public address.
The host's addresses are looked up once, checked, and then connected to. Redirects are not followed.
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

MonotonicTime = float  # seconds, as by time.monotonic()

MAX_ADDRESSES = 4  # of a host that a call tries
HEAD_BYTES = 16 * 1024  # of an answer besides its body: status line, headers and framing
# After this many time-outs in a row within TIMEOUT_SECONDS, a party isn't called.
MAX_TIMEOUTS = 3
TIMEOUT_SECONDS = 60
ASSIGNED_IPV6 = ip_network("2000::/3")  # by IANA; Python takes more of IPv6 for public
# Azure's metadata service, at a public address; the reserved block with Oracle's, which older
# releases of Python take for public; Teredo and 6to4, which embed IPv4 addresses.
NOT_PUBLIC_NETWORKS = [
    ip_network(network) for network in ("168.63.129.16", "192.0.0.0/24", "2001::/32", "2002::/16")
]
REQUEST_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "consulting",
}


class CallFailed(Exception):
    """There is no usable answer. `reason` says why, to users and in logs:

    - `url`: it is no https URL that may be called;
    - `busy`: too many calls are running, to this party or together;
    - `unreachable`: no connection, no valid answer, or an address that is not public. One reason
      for them doesn't tell which names lead into the service's network;
    - `certificate`: the server's certificate is not valid for it;
    - `timeout`, `too_large`: the answer took too long or is too big;
    - `status`, `no_document`: the answer has another status, or is no JSON object.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class HttpAnswer:
    """The answer to a call, of any status."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def document(self, status: int = 200) -> dict[str, Any]:
        """The JSON object in the body. Raises CallFailed: `status` if the answer has another status
        than this one, `no_document` if the body is no JSON object."""
        if self.status != status:
            raise CallFailed("status")
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise CallFailed("no_document")
        return document


class BoundedSocket(ssl.SSLSocket):
    """A TLS connection that raises CallFailed (`too_large`) once more than `bytes_left` bytes were
    read from it. `http.client` does not limit headers, interim answers and trailers together."""

    bytes_left = 0

    def recv_into(self, *args: Any, **options: Any) -> int:
        size = super().recv_into(*args, **options)
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise CallFailed("too_large")
        return size


@cache
def tls_context() -> ssl.SSLContext:
    """The TLS settings of all calls. Loading the certificate authorities takes 55 ms of CPU."""
    context = ssl.create_default_context()
    context.sslsocket_class = BoundedSocket
    return context


end_of_calls: ContextVar[MonotonicTime] = ContextVar("end_of_calls", default=math.inf)


@contextmanager
def finish_calls_within(seconds: float) -> Iterator[None]:
    """A context that gives the calls in it, by any HttpClient, so many seconds together: `fetch`
    raises CallFailed (`timeout`) for one that runs longer or begins later. Not for nesting."""
    token = end_of_calls.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        end_of_calls.reset(token)


class HttpClient:
    """Makes the calls of one purpose, at most `max_calls` of them at a time, in threads: a call
    can't be stopped while it waits for a slow name server, but its caller goes on after `seconds`.
    An answer has a body of `max_bytes` at most, and HEAD_BYTES besides."""

    def __init__(self, name: str, *, seconds: float, max_bytes: int, max_calls: int = 16) -> None:
        self.seconds, self.max_bytes, self.max_calls = seconds, max_bytes, max_calls
        self.threads = ThreadPoolExecutor(max_calls, name)
        self.lock = threading.Lock()
        self.running_calls: Counter[str] = Counter()  # the number of running calls by party
        self.timeouts: list[tuple[str, MonotonicTime]] = []  # party and time of each time-out

    def fetch(
        self,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        private_origins: Collection[str] = (),
        party: str = "",
    ) -> HttpAnswer:
        """Make a GET, or with `form` a POST of its fields; return the answer, whatever its status:
        redirects are not followed. Raises CallFailed, with the reason, if the URL may not be called
        or no whole answer comes within the client's bounds and those of `finish_calls_within`.

        `headers` are sent besides REQUEST_HEADERS. URLs of the web origins `private_origins` may
        have private addresses and any port. `party` names who owns the server, by default the URL's
        web origin: while calls to a party time out or pile up, further ones fail at once. The
        database connection is given back before the call, except in a transaction.
        """
        parts = parse_url(url, private_origins)
        origin = web_origin(url)
        is_private, party = origin in private_origins, party or origin
        deadline = min(time.monotonic() + self.seconds, end_of_calls.get())
        if deadline <= time.monotonic():  # not the server's fault
            raise CallFailed("timeout")
        release_database()
        self.take_slot(party)
        call = HttpCall(parts, form, REQUEST_HEADERS | dict(headers or {}), is_private)
        future = self.threads.submit(call.run, deadline, self.max_bytes)
        # The thread may go on after the deadline, and has its slot until it ends.
        future.add_done_callback(lambda _: self.free_slot(party))
        try:
            answer = future.result(deadline - time.monotonic())
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = "timeout" if time.monotonic() >= deadline else reason_of(error)
            self.record_call(party, timed_out=reason == "timeout")
            raise CallFailed(reason) from None
        except CallFailed:
            self.record_call(party, timed_out=False)
            raise
        self.record_call(party, timed_out=False)
        return answer

    def take_slot(self, party: str) -> None:
        """Count a call to the party as running, until `free_slot`. Raises CallFailed: `timeout` if
        its last MAX_TIMEOUTS calls in TIMEOUT_SECONDS timed out, `busy` if it has a third as many
        calls as there are free slots. So slow servers leave slots to others."""
        with self.lock:
            since = time.monotonic() - TIMEOUT_SECONDS
            if sum(name == party and at > since for name, at in self.timeouts) >= MAX_TIMEOUTS:
                raise CallFailed("timeout")
            if self.running_calls[party] >= (self.max_calls - self.running_calls.total()) // 3:
                raise CallFailed("busy")
            self.running_calls[party] += 1

    def record_call(self, party: str, *, timed_out: bool) -> None:
        """If a call to the party timed out, remember that for TIMEOUT_SECONDS. If it ended in any
        other way, forget the party's time-outs."""
        with self.lock:
            now = time.monotonic()
            recent_timeouts = [
                (name, at) for name, at in self.timeouts if at > now - TIMEOUT_SECONDS
            ]
            if timed_out:
                self.timeouts = [*recent_timeouts, (party, now)]
            else:
                self.timeouts = [(name, at) for name, at in recent_timeouts if name != party]

    def free_slot(self, party: str) -> None:
        with self.lock:
            self.running_calls[party] -= 1
            self.running_calls += Counter()  # removes the parties that have no calls


def release_database() -> None:
    """Give the database connection back, except in a transaction. The next query takes another."""
    if not connection.in_atomic_block:
        connection.close()


def reason_of(error: Exception) -> str:
    """The `reason` of CallFailed for an error of the connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate"
    if isinstance(error, TimeoutError):
        return "timeout"
    return "unreachable"


def parse_url(url: object, private_origins: Collection[str]) -> SplitResult:
    """The parts of an https URL that may be called. Raises CallFailed: `url` if it names a user, a
    port other than 443 or what `split_url` refuses; `unreachable` if its host is an IP address that
    is not public. URLs of `private_origins` may have any port and address."""
    parts = split_url(url) if isinstance(url, str) else None
    if parts is None or parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise CallFailed("url")
    if web_origin(parts.geturl()) in private_origins:
        return parts
    if parts.port not in {None, 443}:
        raise CallFailed("url")
    with suppress(ValueError):  # the host is a name
        if not is_public(parts.hostname):
            raise CallFailed("unreachable")
    return parts


@dataclass(frozen=True)
class HttpCall:
    """One call, as a thread of HttpClient makes it."""

    parts: SplitResult
    form: Mapping[str, str] | None
    headers: dict[str, str]
    is_private: bool

    def run(self, deadline: MonotonicTime, max_bytes: int) -> HttpAnswer:
        """Make the call and return the answer, whose body has `max_bytes` at most. At the deadline
        the connection is shut down; only a slow name server may hold the call longer. Raises
        CallFailed (`unreachable` for a private address, or `too_large`); if no whole answer comes,
        OSError (which TLS errors are), ValueError or HTTPException. A body that gives no length may
        have been cut."""
        host, port = str(self.parts.hostname), self.parts.port or 443
        tcp_socket, context = self.connect(host, port, deadline), tls_context()
        with closing(
            context.wrap_socket(tcp_socket, server_hostname=host, do_handshake_on_connect=False)
        ) as tls_socket:
            vars(tls_socket)["bytes_left"] = max_bytes + HEAD_BYTES
            # The socket's own time-out is of each read: a server could send a byte a second.
            timer = threading.Timer(deadline - time.monotonic(), shut_down, [tls_socket])
            timer.daemon = True
            timer.start()
            try:
                tls_socket.do_handshake()
                http_connection = http.client.HTTPSConnection(host, port, context=context)
                http_connection.sock = tls_socket
                self.send(http_connection)
                with closing(http_connection.getresponse()) as response:
                    body = bytearray(max_bytes + 1)
                    size = response.readinto(body)  # `read` has no limit for a chunk of -1 bytes
                    if size > max_bytes:
                        raise CallFailed("too_large")
                    if response.length:  # of the Content-Length, what did not come
                        raise http.client.IncompleteRead(bytes(body[:size]), response.length)
                    return HttpAnswer(response.status, response.headers, bytes(body[:size]))
            finally:
                timer.cancel()

    def connect(self, host: str, port: int, deadline: MonotonicTime) -> socket.socket:
        """A TCP connection to the first of the host's addresses that answers; MAX_ADDRESSES of them
        share the time until the deadline. Raises OSError if none answers or the name is unknown,
        ValueError for an invalid name, and CallFailed (`unreachable`) if any address isn't public,
        unless `is_private`."""
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        if not (self.is_private or all(map(is_public, addresses))):
            raise CallFailed("unreachable")
        addresses = addresses[:MAX_ADDRESSES]
        for number, address in enumerate(addresses):
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                break
            share = seconds / (len(addresses) - number)
            try:
                tcp_socket = socket.create_connection((address, port), share)
            except OSError:
                continue
            tcp_socket.settimeout(seconds)
            return tcp_socket
        raise OSError("no answer")

    def send(self, http_connection: http.client.HTTPSConnection) -> None:
        """Send the request over a connected `http_connection`: a GET, or with `form` a POST of its
        fields. Raises OSError, and ValueError for an invalid header."""
        target = (self.parts.path or "/") + (f"?{self.parts.query}" if self.parts.query else "")
        if self.form is None:
            http_connection.request("GET", target, headers=self.headers)
        else:
            headers = self.headers | {"Content-Type": "application/x-www-form-urlencoded"}
            http_connection.request("POST", target, urlencode(self.form), headers)


def shut_down(tls_socket: socket.socket) -> None:
    """End another thread's reads of a connection: they raise OSError, or return what has come."""
    with suppress(OSError):  # that thread has closed it
        # SSLSocket.shutdown would drop the TLS state, which that thread is using.
        socket.socket.shutdown(tls_socket, socket.SHUT_RDWR)


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet. An IPv6 address that embeds an IPv4 address
    is not, since it may lead to a private one. Raises ValueError for a host name or other text."""
    ip = ip_address(address.partition("%")[0])
    if ip.version == 6 and ip not in ASSIGNED_IPV6:
        return False
    is_listed = any(ip in network for network in NOT_PUBLIC_NETWORKS)
    return ip.is_global and not ip.is_multicast and not is_listed
