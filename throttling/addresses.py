"""The client's address, behind any number of trusted proxies."""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

UNKNOWN = "unknown"  # a Unix socket has no peer address; such callers share one count
LONGEST = 100  # characters; an IPv6 address with brackets, zone and port has fewer


def client_address(request: HttpRequest | Request) -> str:
    """The address to count by: an IPv4 address, an IPv6 /64 network, or `UNKNOWN`.

    Behind n proxies it is the n-th entry of X-Forwarded-For from the right: each proxy appends its
    peer, and everything further left is the client's own claim. Without such an entry the request
    bypassed a proxy, and its peer counts.
    """
    headers, proxies = request.META, settings.TRUSTED_PROXY_COUNT
    hops = headers.get("HTTP_X_FORWARDED_FOR", "").rsplit(",", proxies) if proxies else []
    seen = hops[-proxies] if len(hops) >= proxies > 0 else ""
    for text in (seen, headers.get("REMOTE_ADDR", "")):
        address = canonical_address(text) if len(text) <= LONGEST else None  # caches no long one
        if address:
            return address
    return UNKNOWN


@lru_cache(maxsize=4096)
def canonical_address(text: str) -> str | None:
    """The canonical form of an address, or None if it is invalid. The address may have a port,
    brackets and a zone (`[fe80::1%eth0]:443`).

    IPv6 addresses are reduced to their /64, since a site gets at least that much (RFC 6177) and can
    change the rest at will.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))
