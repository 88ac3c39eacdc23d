"""Credential limits of networks: the back office's rows, then RATE_LIMIT_CREDENTIAL_NETWORKS."""

import contextlib
import time
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.conf import settings
from django.db import Error, close_old_connections

from throttling.models import NetworkLimit

READ_SECONDS = 10


class NetworkLimits:
    """A process's copy of the rows. A thread of each serving process reads them (`keep_reading`),
    so that no request waits. While the database is unavailable they stay as they are."""

    def __init__(self) -> None:
        self.rows: list[tuple[IPv4Network | IPv6Network, int]] = []  # the longest prefix first

    def find_limit(self, caller: str) -> int | None:
        """The limit of the longest prefix that the caller's address is in; rows come first."""
        networks = self.rows + settings.RATE_LIMIT_CREDENTIAL_NETWORKS
        if not networks:
            return None
        try:
            address = ip_network(caller).network_address
        except ValueError:  # not counted by an address
            return None
        return next((limit for network, limit in networks if address in network), None)

    def refresh(self) -> None:
        rows = NetworkLimit.objects.values_list("network", "limit")
        found = [(ip_network(network, strict=False), limit) for network, limit in rows]
        self.rows = sorted(found, key=lambda row: -row[0].prefixlen)

    def keep_reading(self) -> None:
        """Read the rows until the process ends, through outages of the database."""
        while True:
            with contextlib.suppress(Error):  # an outage, which every request reports
                self.refresh()
            close_old_connections()  # gives the connection back to the pool
            time.sleep(READ_SECONDS)


network_limits = NetworkLimits()
