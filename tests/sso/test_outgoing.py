"""Calls to servers that users have named: who waits for whom, and what is refused."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography import x509

from base.outgoing import PER_ORIGIN, CallFailed, Calls
from tests.certificates import self_signed
from tests.sso.provider import Provider

DOCUMENT = "/.well-known/openid-configuration"


@pytest.fixture
def calls():
    return Calls("tests", seconds=3, most_bytes=1000, at_a_time=2 * PER_ORIGIN)


@pytest.fixture
def fetch(calls, provider):
    def fetch(url=None, **options):
        url = url or provider.issuer + DOCUMENT
        origins = options.pop("private_origins", ["/".join(url.split("/")[:3])])
        return calls.fetch(url, private_origins=origins, **options)

    return fetch


@pytest.fixture
def slow(running_provider, tmp_path):
    """Another server, which answers after the test."""
    certificate = self_signed(tmp_path, x509.DNSName("localhost"))
    server, release = Provider(certificate), threading.Event()
    server.be_honest()
    server.described = lambda: release.wait(30) and {}
    yield server, str(certificate[0])
    release.set()
    server.shutdown()
    server.server_close()


def failing(fetch, *args, **options):
    with pytest.raises(CallFailed) as failed:
        fetch(*args, **options)
    return failed.value.reason


def test_slow_server_stops_no_other(fetch, slow):
    server, authority = slow
    url = server.issuer + DOCUMENT
    with ThreadPoolExecutor(PER_ORIGIN + 1) as pool:
        tries = [pool.submit(failing, fetch, url, authority=authority) for _ in range(PER_ORIGIN)]
        deadline = time.monotonic() + 30
        while server.asked[DOCUMENT] < PER_ORIGIN:
            assert time.monotonic() < deadline
            time.sleep(0.01)

        assert failing(fetch, url, authority=authority) == "busy"
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


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((302, {"Location": DOCUMENT}, b"{}"), "status"),
        ((200, {}, b"<html>"), "no_document"),
        ((200, {}, b"[" * 900), "no_document"),
        ((200, {}, b'"' + b"x" * 1000), "too_large"),
    ],
)
def test_answer_must_be_a_document(fetch, provider, answer, reason):
    provider.says[DOCUMENT] = answer

    assert failing(lambda: fetch().document()) == reason
    assert provider.asked[DOCUMENT] == 1
