"""RATE_LIMIT_CREDENTIAL_NETWORKS: a limit that fits an office behind one address."""

import pytest

from config import environment
from tests.throttling.conftest import limits

NETWORKS = (
    "203.0.113.0/24=200, 203.0.113.128/25=50,203.0.113.200=3,"
    "2001:db8:1::/48=200,2001:db8:1:2::/64=20,"
)


@pytest.fixture(autouse=True)
def networks(settings, redis):
    settings.RATE_LIMIT_CREDENTIAL_NETWORKS = environment.as_network_limits(NETWORKS)


def log_in(api, **headers):
    return api.post("/auth/login", {}, **headers)


@pytest.mark.parametrize(
    ("address", "limit"),
    [
        ("203.0.113.9", "200"),
        ("203.0.113.129", "50"),  # the longest prefix
        ("203.0.113.200", "3"),
        ("::ffff:203.0.113.9", "200"),
        ("2001:db8:1:1::9", "200"),
        ("2001:db8:1:2::9", "20"),
        ("2001:db8:2::9", "10"),
        ("192.0.2.1", "10"),
        ("unix:", "10"),
    ],
)
def test_limit_of_the_longest_prefix_is_in_the_headers(api, address, limit):
    answer = log_in(api, REMOTE_ADDR=address)

    assert limits(answer)["x-ratelimit-limit"] == limit
    assert limits(answer)["x-ratelimit-remaining"] == str(int(limit) - 1)


def test_other_tiers_keep_their_limit(api):
    assert limits(api.get("/nope", REMOTE_ADDR="203.0.113.200"))["x-ratelimit-limit"] == "300"


def test_exactly_the_networks_limit_is_let_through(api):
    statuses = [log_in(api, REMOTE_ADDR="203.0.113.200").status_code for _ in range(4)]

    assert statuses == [400, 400, 400, 429]


def test_share_of_an_outage_is_of_the_networks_limit(api, absent_store, settings):
    settings.WEB_CONCURRENCY = 4

    assert limits(log_in(api, REMOTE_ADDR="203.0.113.9"))["x-ratelimit-limit"] == "50"
