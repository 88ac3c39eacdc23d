"""The TXT record that proves a domain, looked up at DNS_SERVERS or the machine's name servers."""

import threading

from django.conf import settings
from dns.exception import DNSException
from dns.nameserver import Do53Nameserver
from dns.resolver import Resolver

from base.outgoing import release_database

SECONDS = 5
# Limits how many requests of this process wait: name servers of any domain may be slow.
waiting = threading.BoundedSemaphore(8)


def has_record(name: str, value: str) -> bool:
    """Whether a TXT record of the name has the value. While it waits, no database connection is
    held."""
    release_database()
    if not waiting.acquire(blocking=False):
        return False
    try:
        resolver = Resolver(configure=not settings.DNS_SERVERS)
        if settings.DNS_SERVERS:
            pairs = (server.rpartition(":") for server in settings.DNS_SERVERS)
            resolver.nameservers = [Do53Nameserver(host, int(port)) for host, _, port in pairs]
        records = resolver.resolve(f"{name}.", "TXT", lifetime=SECONDS)
    except DNSException:
        return False
    finally:
        waiting.release()
    # Of several strings one text is made (RFC 7208 §3.3).
    return any(b"".join(record.strings) == value.encode() for record in records)
