"""Client ID Metadata Documents: a client whose id is the https URL at which it describes itself.

The URL is a stranger's word, so it is fetched like one: from an address that was looked up and
checked here and is the one connected to, without redirects, cut at 5 KB and 2 s, by two threads of
a process at most. The libraries that are kept well check addresses or bound sizes; none was found
that does all of it, whole time included.
"""

import http.client
import json
import re
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from django.conf import settings

from assistants import redirects
from assistants.exceptions import DocumentUnusable

LONGEST_URL = 500
MOST_BYTES = 5 * 1024
SECONDS = 2
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(days=1)  # how long a document is kept
AT_ONCE = 2
NAT64 = IPv6Network("64:ff9b::/96")
UNICAST = IPv6Network("2000::/3")  # all that IANA has given out of IPv6; other than Python thinks
# Clouds answer their own machines there: Azure at a public number, Oracle at a reserved one, which
# older releases of Python do not know as such.
NOT_PUBLIC = [IPv4Network("168.63.129.16"), IPv4Network("192.0.0.0/24")]
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "consulting"}

threads = ThreadPoolExecutor(AT_ONCE, "metadata")
free = threading.BoundedSemaphore(AT_ONCE)


def is_url(client_id: str) -> bool:
    """Whether a client_id is the URL of a document: https, with a path, and neither user, fragment
    nor dot segments."""
    parts = redirects.split(client_id) if client_id.startswith("https://") else None
    if parts is None or len(client_id) > LONGEST_URL or parts.path in {"", "/"}:
        return False
    segments = parts.path.lower().replace("%2e", ".").split("/")
    return not {".", ".."} & set(segments)


def fetch(url: str) -> tuple[dict[str, object], timedelta]:
    """The document at a URL that `is_url`, and how long it may be kept; DocumentUnusable where it
    cannot be had in time, or is none."""
    if not free.acquire(blocking=False):  # else slow servers would hold up all of our threads
        raise DocumentUnusable
    try:
        return threads.submit(load_and_release, url).result(SECONDS)
    except (OSError, ValueError, http.client.HTTPException, RecursionError):
        raise DocumentUnusable from None


def load_and_release(url: str) -> tuple[dict[str, object], timedelta]:
    """In a thread, since nothing bounds the time that a name's look-up takes."""
    try:
        return load(url, time.monotonic() + SECONDS)
    finally:
        free.release()


def load(url: str, deadline: float) -> tuple[dict[str, object], timedelta]:
    """Raises OSError, ValueError or HTTPException for what is not to be had or no document."""
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or 443
    with closing(connect(host, port, deadline)) as wire:
        # A server that sends a byte a second would keep to every timeout of a single read.
        watch = threading.Timer(deadline - time.monotonic(), wire.shutdown, [socket.SHUT_RDWR])
        watch.daemon = True
        watch.start()
        try:
            connection = http.client.HTTPSConnection(host, port)
            connection.sock = wire
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", target, headers=HEADERS)
            return read(connection.getresponse())
        finally:
            watch.cancel()


def connect(host: str, port: int, deadline: float) -> ssl.SSLSocket:
    """A TLS connection to the first of the host's addresses that answers, all of them public."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not all(is_public(address) for address in addresses):
        raise OSError("not public")
    context = ssl.create_default_context(cafile=settings.METADATA_DOCUMENTS_TEST_AUTHORITY)
    for address in addresses:
        try:
            plain = socket.create_connection((address, port), max(deadline - time.monotonic(), 0.1))
        except OSError:
            continue
        return context.wrap_socket(plain, server_hostname=host)
    raise OSError("no answer")


def is_public(address: str) -> bool:
    """Whether an address belongs to somebody on the internet rather than to a network of ours. An
    IPv6 address with an IPv4 one in it is what that is."""
    ip = ip_address(address.partition("%")[0])
    if settings.METADATA_DOCUMENTS_TEST_AUTHORITY and ip.is_loopback:
        return True
    if isinstance(ip, IPv6Address):
        if ip.sixtofour or ip.teredo:
            return False
        if ip in NAT64:
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        elif ip not in UNICAST:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in one for one in NOT_PUBLIC)


def read(response: http.client.HTTPResponse) -> tuple[dict[str, object], timedelta]:
    if response.status != 200:
        raise ValueError("no document")
    body = response.read(MOST_BYTES + 1)
    document = json.loads(body) if len(body) <= MOST_BYTES else None
    if not isinstance(document, dict):
        raise ValueError("no document")
    return document, life(response.headers.get("Cache-Control", ""))


def life(cache_control: str) -> timedelta:
    """How long a document is kept: as its server says, from five minutes to a day."""
    said = re.search(r"\bmax-age=([0-9]{1,9})", cache_control.lower())
    return min(max(timedelta(seconds=int(said[1]) if said else 0), SHORTEST), LONGEST)
