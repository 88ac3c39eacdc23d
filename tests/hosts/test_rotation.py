"""A key that one command rotates, or withdraws, on all hosts; also on one that was cut off."""

import itertools

import jwt
import pytest

from tests.hosts.conftest import Balancer
from tests.servers import wait_until

pytestmark = pytest.mark.hosts

# Of a network that no other test calls from: hosts remember for a while whom they refuse.
CLIENTS = itertools.cycle(f"203.0.113.{number}" for number in range(1, 255))


def kid(token):
    return jwt.get_unverified_header(token)["kid"]


def sign_in(host):
    """A new token; logging in from one address after the other stays below a limit."""
    return Balancer([host]).log_in(next(CLIENTS))


def published(host):
    keys = host.ask(next(CLIENTS), "GET", "/.well-known/jwks.json").json()["keys"]
    return {key["kid"] for key in keys}


def test_rotated_key_signs_everywhere_and_is_known_everywhere(hosts):
    old = sign_in(hosts[0])
    hosts[0].manage("rotatekey", "--now")
    for host in hosts:
        wait_until(lambda host=host: kid(sign_in(host)) != kid(old), 20)

    new = [sign_in(host) for host in hosts]
    assert len({kid(token) for token in new}) == 1
    assert {host.status(token) for token in [old, *new] for host in hosts} == {200}
    assert {host.health()["keys"] for host in hosts} == {"ok"}


def test_withdrawn_key_is_refused_also_by_a_host_that_was_cut_off(hosts):
    first, last = hosts[0], hosts[-1]
    old = sign_in(first)
    with last.cut_off_from("db"):
        first.manage("withdrawkey", "--", kid(old))
        wait_until(lambda: kid(old) not in published(first), 10)
        assert kid(old) in published(last)  # which answers at once, by the keys that it has

    wait_until(lambda: kid(old) not in published(last), 20)
    wait_until(lambda: last.status(old) == 401, 10)
    wait_until(lambda: {host.status(sign_in(first)) for host in hosts} == {200}, 10)
