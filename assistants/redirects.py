"""Redirect URIs: which ones a client may register and use (RFC 8252, RFC 9700)."""

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from base.urls import split_url

LOOPBACK = {"127.0.0.1", "[::1]", "localhost"}
# A host and a port only: users judge by the host, and it is put into a header.
LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
NETLOC = re.compile(rf"(\[[0-9A-Fa-f:.]+\]|{LABEL}(?:\.{LABEL})*)(?::([0-9]{{1,5}}))?")


def split_uri(uri: str) -> SplitResult | None:
    """The parts of a URI that a client may register; None for any other.

    Allowed are https, http to a loopback address, and ASSISTANT_REDIRECT_SCHEMES. The URI has a
    plain host (unless of such a scheme), no user, no fragment, and visible ASCII characters only.
    """
    parts = split_url(uri)
    if parts is None or is_private_use(uri):
        return parts
    allowed = bool(host_of(parts)) if parts.scheme == "https" else is_loopback(parts)
    return parts if allowed else None


def host_of(parts: SplitResult) -> str:
    """The host as written in the URI, without the port; "" if it is not a plain host."""
    found = NETLOC.fullmatch(parts.netloc)
    return found[1] if found and len(found[1]) <= 253 else ""


def is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and host_of(parts) in LOOPBACK


def is_private_use(uri: str) -> bool:
    """Whether the URI has a private-use scheme that the operator allows (RFC 8252 §7.1)."""
    return urlsplit(uri).scheme in settings.ASSISTANT_REDIRECT_SCHEMES


def is_registered(uri: str, registered: Collection[str]) -> bool:
    """Whether a request's URI is exactly one of these. The port of loopback addresses does not
    matter (RFC 8252 §7.3)."""
    asked = split_uri(uri)
    if asked is None or not is_loopback(asked):
        return asked is not None and uri in registered
    known = [parts for parts in map(split_uri, registered) if parts is not None]
    return without_port(asked) in [without_port(parts) for parts in known if is_loopback(parts)]


def without_port(parts: SplitResult) -> SplitResult:
    return parts._replace(netloc=host_of(parts))


def shown_host(uri: str) -> str:
    """The host of a registered URI, as shown to users; the scheme of a private-use one."""
    parts = urlsplit(uri)
    return f"{parts.scheme}:" if is_private_use(uri) else host_of(parts)
