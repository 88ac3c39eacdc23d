"""Looks up the TXT record that proves a domain, at DNS_SERVERS or the machine's name servers."""

import logging
import threading

from django.conf import settings
from dns.exception import DNSException
from dns.nameserver import Do53Nameserver
from dns.resolver import NXDOMAIN, NoAnswer, Resolver

from base.outgoing import release_database

logger = logging.getLogger(__name__)
LOOKUP_SECONDS = 5  # with all retries
# Few requests of a process may wait, since the name servers of a domain may be slow.
lookup_slots = threading.BoundedSemaphore(8)


def has_txt_record(name: str, value: str) -> bool:
    """Return whether a TXT record of this name has this value, maybe with spaces around. False also
    if the lookup fails or takes over LOOKUP_SECONDS, which is logged, or too many are running. Call
    it outside a transaction, where it gives the database connection back before it waits."""
    release_database()
    if not lookup_slots.acquire(blocking=False):
        return False
    try:
        resolver = Resolver(configure=not settings.DNS_SERVERS)
        if settings.DNS_SERVERS:
            pairs = (server.rpartition(":") for server in settings.DNS_SERVERS)  # address:port
            resolver.nameservers = [Do53Nameserver(host, int(port)) for host, _, port in pairs]
        records = resolver.resolve(f"{name}.", "TXT", lifetime=LOOKUP_SECONDS)
    except (NXDOMAIN, NoAnswer):
        return False
    except DNSException as error:
        logger.warning("TXT lookup failed: %s", error)
        return False
    finally:
        lookup_slots.release()
    # A record's strings are joined to one text (RFC 7208 §3.3).
    return any(b"".join(record.strings).strip() == value.encode() for record in records)
