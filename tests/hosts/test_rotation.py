"""A rotated key that reaches the other hosts on time, or late."""

import itertools

import jwt
import pytest

from tests.hosts.conftest import Balancer, wait_until

pytestmark = pytest.mark.hosts

# Of a network that no other test calls from: hosts remember for a while whom they refuse.
CLIENTS = itertools.cycle(f"203.0.113.{number}" for number in range(1, 255))


def rotate(host, delay):
    """The file of a new key, which signs there after the delay."""
    before = set(host.keys.iterdir())
    host.manage("rotatekeys", "--delay", str(delay))
    [path] = set(host.keys.iterdir()) - before
    return path


def status(token, host):
    """What a host says to the bearer of the token."""
    bearer = {"Authorization": f"Bearer {token}"}
    return Balancer([host]).ask("192.0.2.1", "GET", "/auth/me", **bearer).status


def kid(token):
    return jwt.get_unverified_header(token)["kid"]


def signs_with(host):
    """The key of a new token; logging in from one address after the other stays below a limit."""
    return kid(Balancer([host]).log_in(next(CLIENTS)))


def test_key_that_is_copied_on_time_is_noticed_by_nobody(hosts):
    first, *others = hosts
    old = signs_with(first)
    path = rotate(first, 8)
    for host in others:
        host.receive_key(path)

    wait_until(lambda: signs_with(first) != old, 20)

    token = Balancer([first]).log_in()
    assert [status(token, host) for host in hosts] == [200, 200, 200]
    assert {host.health()["keys"] for host in hosts} == {"ok"}


def test_key_that_is_not_copied_is_told_of_before_it_is_missed(hosts):
    first, *others = hosts
    old = Balancer([first]).log_in()
    path = rotate(first, 8)
    for host in others:
        wait_until(lambda host=host: host.health()["keys"] == "missing", 10)

    assert [kid(old)] * 3 == [signs_with(host) for host in hosts]
    assert all("is published, and has no file in" in host.log for host in others)

    try:
        wait_until(lambda: signs_with(first) != kid(old), 20)
        token = Balancer([first]).log_in()
        assert [status(token, host) for host in hosts] == [200, 503, 503]
        assert [status(old, host) for host in hosts] == [200, 200, 200]
    finally:  # the next test finds three hosts that know each key
        for host in others:
            host.receive_key(path)
            wait_until(lambda host=host: host.health()["keys"] == "ok", 10)
    assert [status(token, host) for host in hosts] == [200, 200, 200]
