"""The redirect URIs that a client may register and use (RFC 8252, RFC 9700)."""

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from base.urls import split_url

LOOPBACK_HOSTS = {"127.0.0.1", "[::1]", "localhost"}
# A netloc of a plain host and a port: users judge by the host, and it is put into a header.
HOST_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST_AND_PORT = re.compile(
    rf"(\[[0-9A-Fa-f:.]+\]|{HOST_LABEL}(?:\.{HOST_LABEL})*)(?::([0-9]{{1,5}}))?"
)


def parse_allowed_uri(uri: str) -> SplitResult | None:
    """The parts of a redirect URI that a client may register; None for any other text. Allowed are
    https with a plain host, http with a loopback address, both without a user, and the schemes in
    ASSISTANT_REDIRECT_SCHEMES, but no fragment, no backslash and only visible ASCII."""
    parts = split_url(uri)
    if parts is None or is_private_use(uri):
        return parts
    is_allowed = bool(host_of(parts)) if parts.scheme == "https" else is_loopback(parts)
    return parts if is_allowed else None


def host_of(parts: SplitResult) -> str:
    """The host as written in the URI, without the port; "" if it is not a plain host."""
    match = HOST_AND_PORT.fullmatch(parts.netloc)
    return match[1] if match and len(match[1]) <= 253 else ""


def is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and host_of(parts) in LOOPBACK_HOSTS


def is_private_use(uri: str) -> bool:
    """Whether the URI has a private-use scheme that the operator allows (RFC 8252 §7.1)."""
    return urlsplit(uri).scheme in settings.ASSISTANT_REDIRECT_SCHEMES


def is_registered(uri: str, registered_uris: Collection[str]) -> bool:
    """Whether a URI is exactly one of the registered ones, and still allowed. The ports of loopback
    addresses may differ (RFC 8252 §7.3), and an empty path equals "/"."""
    parts = parse_allowed_uri(uri)
    if parts is None:
        return False
    if not is_loopback(parts):
        return uri in registered_uris
    registered_parts = filter(None, map(parse_allowed_uri, registered_uris))
    return loopback_key(parts) in map(loopback_key, filter(is_loopback, registered_parts))


def loopback_key(parts: SplitResult) -> SplitResult:
    """The parts without the port, and with "/" for an empty path, which means the same (RFC 3986
    §6.2.3): releases of a client write either."""
    return parts._replace(netloc=host_of(parts), path=parts.path or "/")


def display_host(uri: str) -> str:
    """The host of a registered URI, for users to read; of a private-use URI, scheme and colon."""
    parts = urlsplit(uri)
    return f"{parts.scheme}:" if is_private_use(uri) else host_of(parts)
