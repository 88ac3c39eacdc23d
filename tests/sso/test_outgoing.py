"""Calls to servers that users have named: who waits for whom, and what is refused."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from base.outgoing import PER_PARTY, CallFailed, Calls
from tests.servers import wait_until
from tests.sso.provider import Provider

DOCUMENT = "/.well-known/openid-configuration"


@pytest.fixture
def fetch(provider):
    calls = Calls("tests", seconds=3, most_bytes=1000, at_a_time=2 * PER_PARTY)

    def fetch(url=None, **options):
        url = url or provider.issuer + DOCUMENT
        return calls.fetch(url, private_origins=["/".join(url.split("/")[:3])], **options)

    return fetch


@pytest.fixture
def slow(provider):
    """Another server with the same certificate, which answers after the test."""
    release = threading.Event()
    with Provider(Path(provider.authority).parent) as server:
        server.be_honest()
        server.described = lambda: release.wait(30) and {}
        yield server
        release.set()


def failing(fetch, *args, **options):
    with pytest.raises(CallFailed) as failed:
        fetch(*args, **options)
    return failed.value.reason


@pytest.mark.parametrize("party", ["", "a company with several hosts"])
def test_slow_server_stops_no_other_party(fetch, slow, party):
    call = partial(failing, fetch, slow.origin + DOCUMENT, party=party)
    with ThreadPoolExecutor(PER_PARTY) as pool:
        tries = [pool.submit(call) for _ in range(PER_PARTY)]
        wait_until(lambda: slow.asked[DOCUMENT] >= PER_PARTY, pause=0.01)

        assert call() == "busy"
        if party:
            assert failing(fetch, party=party) == "busy"
        assert fetch().status == 200
        assert {one.result() for one in tries} == {"timeout"}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://localhost/", "url"),
        ("https://user@localhost/", "url"),
        ("https://localhost/#a", "url"),
        ("https://localhost:1/", "unreachable"),
        ("https://127.0.0.1:{port}/", "certificate"),
        ("https://localhost:{port}/", "certificate"),
    ],
)
def test_unusable_address_has_a_reason(fetch, provider, monkeypatch, url, reason):
    if url.startswith("https://localhost:{"):
        monkeypatch.delenv("SSL_CERT_FILE")

    assert failing(fetch, url.format(port=provider.server_port)) == reason
    assert provider.asked.total() == 0
