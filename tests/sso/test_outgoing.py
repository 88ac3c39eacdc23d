"""Calls to servers that users have named: slow ones delay no others, unsafe ones are refused."""

import ssl
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from base import outgoing
from base.outgoing import HEAD_BYTES, MAX_TIMEOUTS, CallFailed, HttpClient, finish_calls_within
from tests.certificates import SecureHandler, SecureServer, trust
from tests.servers import wait_until
from tests.sso.provider import Provider

DOCUMENT = "/.well-known/openid-configuration"
AT_A_TIME, ALONE = 32, 8  # calls; of these, calls to a party while no other is called


@pytest.fixture
def calls():
    return HttpClient("tests", seconds=3, max_bytes=1000, max_calls=AT_A_TIME)


@pytest.fixture
def fetch(provider, calls):
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
    with ThreadPoolExecutor(ALONE) as pool:
        tries = [pool.submit(call) for _ in range(ALONE)]
        wait_until(lambda: slow.asked[DOCUMENT] >= ALONE, pause=0.01)

        assert call() == "busy"
        if party:
            assert failing(fetch, party=party) == "busy"
        assert fetch().status == 200
        assert {one.result() for one in tries} == {"timeout"}


def test_slow_servers_of_four_parties_fail_no_call_to_others(fetch, slow, calls):
    calls.seconds = 2
    done = threading.Event()

    def attack(number):
        reasons = set()
        while not done.wait(0.02):
            reasons.add(failing(fetch, slow.origin + DOCUMENT, party=f"slow {number % 4}"))
        return reasons

    def sign_in(number):
        done.wait(0.1)
        return fetch(party=f"honest {number % 3}").status

    with ThreadPoolExecutor(40) as attackers, ThreadPoolExecutor(2) as users:
        attacks = [attackers.submit(attack, number) for number in range(40)]
        wait_until(lambda: slow.asked[DOCUMENT] >= 16, pause=0.01)
        try:
            assert {*users.map(sign_in, range(60))} == {200}
        finally:
            done.set()
        assert {reason for one in attacks for reason in one.result()} == {"busy", "timeout"}


def test_party_that_times_out_is_not_called_for_a_while(fetch, slow, calls, monkeypatch):
    calls.seconds = 0.5
    call = partial(failing, fetch, slow.origin + DOCUMENT)
    assert {call() for _ in range(MAX_TIMEOUTS)} == {"timeout"}

    assert call() == "timeout"
    assert slow.asked[DOCUMENT] == MAX_TIMEOUTS
    assert fetch().status == 200
    monkeypatch.setattr(outgoing, "TIMEOUT_SECONDS", 0)
    assert call() == "timeout"
    assert slow.asked[DOCUMENT] == MAX_TIMEOUTS + 1


def test_party_that_times_out_now_and_then_is_called(fetch, provider, calls):
    for _ in range(MAX_TIMEOUTS):
        calls.record_call(provider.origin, timed_out=True)
        calls.record_call(provider.origin, timed_out=False)

    assert fetch().status == 200


def test_too_large_answer_ends_a_row_of_time_outs(fetch, raw, calls):
    raw.pieces = LONG_ANSWERS["headers"]
    for _ in range(MAX_TIMEOUTS):
        calls.record_call(raw.origin, timed_out=True)
        assert failing(fetch, raw.origin) == "too_large"


def test_calls_of_a_block_share_one_deadline(fetch, slow, calls):
    calls.seconds = 20
    began = time.monotonic()
    with finish_calls_within(2):
        assert fetch().status == 200
        assert failing(fetch, slow.origin + DOCUMENT) == "timeout"

    assert time.monotonic() - began < 10


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
        trust("/dev/null", monkeypatch)

    assert failing(fetch, url.format(port=provider.server_port)) == reason
    assert provider.asked.total() == 0


def test_certificate_authorities_are_loaded_once(fetch, monkeypatch):
    """Loading them takes 20 to 60 ms of CPU, a call on both of its ends 3 ms."""
    trust(ssl.get_default_verify_paths().openssl_cafile, monkeypatch)
    assert failing(fetch) == "certificate"
    before = time.process_time()
    ssl.create_default_context()
    loaded = time.process_time()
    assert {failing(fetch) for _ in range(20)} == {"certificate"}

    assert time.process_time() - loaded < 20 / 2 * (loaded - before)


LINE = b"X: " + b"a" * 60_000 + b"\r\n"
OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
LONG_ANSWERS = {
    "status": [b"HTTP/1.1 200 " + LINE + b"Content-Length: 2\r\n\r\n{}"],
    "headers": [OK, *[LINE] * 90, b"Content-Length: 2\r\n\r\n{}"],
    "interim answers": [b"HTTP/1.1 100 Continue\r\nX: Y\r\n\r\n"] * 10_000,
    "chunks' extensions": [OK, CHUNKED, *[b"1;" + LINE + b" \r\n"] * 900],
    "trailers": [OK, CHUNKED, b"2\r\n{}\r\n0\r\n", *[LINE] * 900],
}


class RawHandler(SecureHandler):
    """Sends the server's `pieces`, until the client hangs up."""

    def do_GET(self):  # noqa: N802
        for piece in self.server.pieces:
            self.wfile.write(piece)


@pytest.fixture
def raw(provider):
    """Another server with the same certificate."""
    with SecureServer(Path(provider.authority).parent, RawHandler) as server:
        yield server


@pytest.mark.parametrize("part", LONG_ANSWERS)
def test_every_part_of_an_answer_is_bounded(fetch, raw, part):
    raw.pieces = LONG_ANSWERS[part]

    assert failing(fetch, raw.origin) == "too_large"


def test_answer_within_its_bounds_is_read_whole(fetch, raw):
    head = OK + b"X: " + b"a" * (HEAD_BYTES - 100) + b"\r\n"
    raw.pieces = [head + b"Content-Length: 1000\r\n\r\n" + b" " * 1000]

    assert fetch(raw.origin).body == b" " * 1000


def test_body_that_is_cut_off_is_no_answer(fetch, raw):
    raw.pieces = [OK, b"Content-Length: 100\r\n\r\n{}"]

    assert failing(fetch, raw.origin) == "unreachable"


def test_long_headers_take_no_memory(fetch, raw):
    """As many answers as one company may cause at a time would take 200 MB."""
    raw.pieces = LONG_ANSWERS["headers"]
    tracemalloc.start()
    with ThreadPoolExecutor(ALONE) as pool:
        tries = [pool.submit(failing, fetch, raw.origin) for _ in range(ALONE)]
        assert {one.result() for one in tries} == {"too_large"}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 30_000_000
