"""Redirect URIs: which ones a client may register, and which it may then use (RFC 8252, 9700)."""

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings

LOOPBACK = {"127.0.0.1", "[::1]", "localhost"}
# A host and a port, and nothing else: people judge by the host, and it stands in a header.
LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
NETLOC = re.compile(rf"(\[[0-9A-Fa-f:.]+\]|{LABEL}(?:\.{LABEL})*)(?::([0-9]{{1,5}}))?")


def host_of(parts: SplitResult) -> str:
    """The host as it stands in the URI, without the port; "" for what is no host."""
    found = NETLOC.fullmatch(parts.netloc)
    return found[1] if found and is_host(found[1]) else ""


def is_host(host: str) -> bool:
    """Whether the name is one that every browser takes for the same host. To some of them a name
    whose last label begins with a digit is an IPv4 address, in whatever notation."""
    try:
        if host[0] == "[":
            IPv6Address(host[1:-1])
        elif host.rpartition(".")[2][0].isdigit():
            IPv4Address(host)
    except AddressValueError:
        return False
    return len(host) <= 253


def is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and host_of(parts) in LOOPBACK


def is_private_use(uri: str) -> bool:
    """Whether a URI that `split` has taken is of a program's own scheme (RFC 8252 §7.1)."""
    return urlsplit(uri).scheme in settings.ASSISTANT_REDIRECT_SCHEMES


def split(uri: str) -> SplitResult | None:
    """The URI taken apart, or None for one that no client may have: not https, nor http to this
    very machine, nor of a scheme that operators trust; without a plain host (but for that scheme);
    with a user, a fragment, a backslash or anything that is no visible ASCII."""
    if "#" in uri or "\\" in uri or not all("!" <= character <= "~" for character in uri):
        return None
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018  (raises ValueError for what is no port)
    except ValueError:
        return None
    if is_private_use(uri):
        return parts
    if not host_of(parts):
        return None
    return parts if parts.scheme == "https" or is_loopback(parts) else None


def without_port(parts: SplitResult) -> str:
    return urlunsplit(parts._replace(netloc=host_of(parts)))


def matches(uri: str, registered: str) -> bool:
    """Whether a request's URI is the registered one, character by character; a program on the
    person's own machine may come with any port (RFC 8252 §7.3)."""
    if uri == registered:
        return True
    asked, known = split(uri), split(registered)
    if asked is None or known is None or not (is_loopback(asked) and is_loopback(known)):
        return False
    return without_port(asked) == without_port(known)


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    return split(uri) is not None and any(matches(uri, known) for known in registered)


def host(uri: str) -> str:
    """The host of a registered URI, as a person may judge by; of a private-use one the scheme."""
    parts = urlsplit(uri)
    return f"{parts.scheme}:" if is_private_use(uri) else host_of(parts)


def origin(uri: str) -> str:
    """Where an answer goes: scheme, host and port; of a private-use URI the scheme."""
    parts = urlsplit(uri)
    if is_private_use(uri):
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def with_query(uri: str, **parameters: str | None) -> str:
    """The URI with these added to its query; those that are None are left out."""
    parts = urlsplit(uri)
    added = [(name, value) for name, value in parameters.items() if value is not None]
    query = urlencode(parse_qsl(parts.query, keep_blank_values=True) + added)
    return urlunsplit(parts._replace(query=query))
