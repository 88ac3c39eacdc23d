"""The address by which a caller is counted, from the connection and X-Forwarded-For."""

import pytest
from django.test import RequestFactory

from config.middleware import UNKNOWN_ADDRESS, client_address

LONG = "9" * 10_240


def address(peer="192.0.2.1", forwarded=None):
    request = RequestFactory().get("/")
    request.META["REMOTE_ADDR"] = peer
    if forwarded is not None:
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    return client_address(request)


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("203.0.113.9", "203.0.113.9"),
        (" 203.0.113.9 ", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::9", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("[fe80::1%eth0]:443", "fe80::/64"),
        ("::1", "::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("[::ffff:cb00:7109]:80", "203.0.113.9"),
        ("64:ff9b::cb00:7109", "203.0.113.9"),
        ("[64:ff9b::203.0.113.9]:80", "203.0.113.9"),
        ("64:ff9b:0:0:1::9", "64:ff9b::/64"),
    ],
)
def test_caller_address_has_one_spelling(peer, expected):
    assert address(peer) == expected


@pytest.mark.parametrize(
    "junk",
    ["", "unix:", "_hidden", "[", "1.2.3.256", "010.0.0.1", "1.2.3.4\r\nFLUSHALL", "\ud800", LONG,
     "[" * 50 + ":" * 49, "\u0661\u0662\u0667.\u0660.\u0660.\u0661"],
)  # fmt: skip
def test_invalid_address_is_counted_as_unknown(settings, junk):
    settings.TRUSTED_PROXY_COUNT = 1

    assert address(junk) == UNKNOWN_ADDRESS
    assert address("192.0.2.1", junk) == "192.0.2.1"


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        *[(0, claim, "192.0.2.1") for claim in ("203.0.113.9", "203.0.113.9, 127.0.0.1", LONG)],
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        (1, "198.51.100.1,203.0.113.9:4711", "203.0.113.9"),
        (2, "198.51.100.1, 203.0.113.9, 10.0.0.1", "203.0.113.9"),
        (2, f"{LONG}, 203.0.113.9, 10.0.0.1", "203.0.113.9"),
        (2, "203.0.113.9, [2001:db8::1]:9, 10.0.0.1", "2001:db8::/64"),
    ],
)
def test_only_entries_of_trusted_proxies_name_the_caller(settings, proxies, forwarded, expected):
    settings.TRUSTED_PROXY_COUNT = proxies

    assert address(forwarded=forwarded) == expected


@pytest.mark.parametrize("forwarded", [None, "", "203.0.113.9", "203.0.113.9, unknown, 10.0.0.1"])
def test_request_that_bypassed_a_proxy_is_counted_by_its_peer(settings, forwarded):
    settings.TRUSTED_PROXY_COUNT = 2

    assert address(forwarded=forwarded) == "192.0.2.1"
