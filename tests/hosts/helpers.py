"""What several tests of hosts share."""

from tests.hosts.conftest import Balancer


def status(token, host):
    """What a host says to the bearer of the token."""
    bearer = {"Authorization": f"Bearer {token}"}
    return Balancer([host]).ask("192.0.2.1", "GET", "/auth/me", **bearer).status
