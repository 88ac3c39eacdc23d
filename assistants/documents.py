"""Client ID Metadata Documents: the client's id is the https URL of a document about it.

The URL is untrusted. It is fetched from public addresses only, which are looked up once, checked
and then connected to; on port 443, without redirects, 5 KB at most, within 2 s.
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
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings

from assistants import redirects
from assistants.errors import UnusableMetadata
from base.origin import current

LONGEST_URL = 500
MOST_BYTES = 5 * 1024
MOST_ADDRESSES = 4
SECONDS = 2
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(days=1)  # how long a document is kept
UNICAST = ip_network("2000::/3")  # all of IPv6 that IANA has assigned; Python counts more
# Metadata services of clouds: Azure's at a public address, Oracle's at a reserved one, which older
# releases of Python do not know as such. Then Teredo and 6to4, which embed IPv4 addresses.
NOT_PUBLIC = [
    ip_network(one) for one in ("168.63.129.16", "192.0.0.0/24", "2001::/32", "2002::/16")
]
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "consulting"}

# The clients whose requests in this process wait for a document: four, each for one. A thread that
# waits for a slow name server outlives its request, so there are more threads.
waiting: set[str] = set()
MOST_WAITING = 4
lock = threading.Lock()
threads = ThreadPoolExecutor(16, "metadata")


def is_url(client_id: str) -> bool:
    """Whether a client_id is the URL of a document: https on port 443, with a path, and without
    user, fragment and dot segments."""
    parts = redirects.split_uri(client_id) if client_id.startswith("https://") else None
    if parts is None or len(client_id) > LONGEST_URL or parts.path in {"", "/"}:
        return False
    if parts.port not in {None, 443} and not settings.METADATA_DOCUMENTS_TEST_AUTHORITY:
        return False
    segments = parts.path.lower().replace("%2e", ".").split("/")
    return not {".", ".."} & set(segments)


def fetch_document(url: str) -> tuple[dict[str, object], timedelta]:
    """The document at a URL that `is_url`, and how long to keep it.

    Raises UnusableMetadata unless it can be fetched within SECONDS.
    """
    client = current.get().address
    with lock:
        if client in waiting or len(waiting) >= MOST_WAITING:
            raise UnusableMetadata
        waiting.add(client)
    loading = threads.submit(download_document, url, time.monotonic() + SECONDS)
    try:
        return loading.result(SECONDS)
    except (OSError, ValueError, http.client.HTTPException, RecursionError):
        raise UnusableMetadata from None
    finally:
        loading.cancel()  # if no thread was free
        waiting.discard(client)


def download_document(url: str, deadline: float) -> tuple[dict[str, object], timedelta]:
    """Raises OSError, ValueError or HTTPException if there is no valid document."""
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or 443
    context = ssl.create_default_context(cafile=settings.METADATA_DOCUMENTS_TEST_AUTHORITY)
    plain = connect_to_public(host, port, deadline)
    wrapped = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    with closing(wrapped) as wire:
        # A server that sends a byte a second keeps within every timeout of a single read.
        left = deadline - time.monotonic()
        watch = threading.Timer(left, socket.socket.shutdown, [wire, socket.SHUT_RDWR])
        watch.daemon = True
        watch.start()
        try:
            wire.do_handshake()
            connection = http.client.HTTPSConnection(host, port)
            connection.sock = wire
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", target, headers=HEADERS)
            with closing(connection.getresponse()) as response:
                return parse_response(response)
        finally:
            watch.cancel()


def connect_to_public(host: str, port: int, deadline: float) -> socket.socket:
    """A connection to the first of the host's addresses that answers. All must be public."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not all(is_public(address) for address in addresses):
        raise OSError("not public")
    for address in addresses[:MOST_ADDRESSES]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            return socket.create_connection((address, port), left)
        except OSError:
            continue
    raise OSError("no answer")


def is_public(address: str) -> bool:
    """Whether an address is on the public internet. IPv6 addresses that embed an IPv4 address don't
    count as public."""
    ip = ip_address(address.partition("%")[0])
    if settings.METADATA_DOCUMENTS_TEST_AUTHORITY and ip.is_loopback:
        return True
    if ip.version == 6 and ip not in UNICAST:
        return False
    return ip.is_global and not ip.is_multicast and not any(ip in one for one in NOT_PUBLIC)


def parse_response(response: http.client.HTTPResponse) -> tuple[dict[str, object], timedelta]:
    """The document in a response, and how long to keep it. Raises ValueError if there is none."""
    body = response.read(MOST_BYTES + 1)
    document = json.loads(body) if response.status == 200 and len(body) <= MOST_BYTES else None
    if not isinstance(document, dict):
        raise ValueError("no document")
    max_age = re.search(
        r"\bmax-age=([0-9]{1,9})", response.headers.get("Cache-Control", "").lower()
    )
    lifetime = timedelta(seconds=int(max_age[1]) if max_age else 0)
    return document, min(max(lifetime, SHORTEST), LONGEST)
