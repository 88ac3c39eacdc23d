"""Clients that are named by the URL of their metadata document, on a real HTTPS server."""

import json
import socket
import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from assistants import metadata
from assistants.models import Client
from audit.models import AuditEvent, Kind
from base import outgoing
from tests.assistants.conftest import (
    REDIRECT,
    Person,
    app_with,
    authorization_query,
    authorize,
    can_call,
    post_form,
    redeem,
    refresh,
)
from tests.certificates import SecureHandler, SecureServer, trust
from tests.servers import wait_until

pytestmark = pytest.mark.django_db
PATH = "/client.json"


class Server(SecureServer):
    """The HTTPS server of a client's developer."""

    def __init__(self, folder):
        super().__init__(folder, SecureHandler)
        self.url = f"https://localhost{PATH}"

    def serve(self, status=200, /, headers=None, **changes):
        document = {"client_id": self.url, "client_name": "Claudia", "redirect_uris": [REDIRECT]}
        document = {k: v for k, v in (document | changes).items() if v is not ...}
        self.says[PATH] = status, headers or {}, json.dumps(document).encode()


@pytest.fixture(scope="module")
def running_server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("documents")) as server:
        yield server


@pytest.fixture
def server(running_server, monkeypatch):
    """The server, which the service sees as trusted, on port 443 of a public address."""
    connect, is_public = socket.create_connection, outgoing.is_public

    def connect_to_server(address, timeout):
        return connect(("127.0.0.1", running_server.server_port), timeout)

    def is_public_here(address):
        return address in {"127.0.0.1", "::1"} or is_public(address)

    trust(running_server.authority, monkeypatch)
    monkeypatch.setattr(outgoing, "is_public", is_public_here)
    monkeypatch.setattr(socket, "create_connection", connect_to_server)
    running_server.forget()
    running_server.serve()
    return running_server


def query(server, **changes):
    client = Client(redirect_uris=[REDIRECT])
    return authorization_query(client, **{"client_id": server.url} | changes)


def page(server, **changes):
    return Person(query(server, **changes)).page


def test_client_connects_by_its_metadata_document(api, ada, server):
    person = Person(query(server))
    text = person.page.content.decode()
    assert "<strong>localhost</strong> wants access to your account" in text
    assert "<strong>Claudia</strong>" in text
    person.sign_in(ada.email)
    code = person.allow()
    client = Client.objects.get()

    tokens = redeem(api, client, code, client_id=server.url).json()
    tokens = refresh(api, client, tokens["refresh_token"], client_id=server.url).json()

    assert can_call(app_with(tokens))
    assert AuditEvent.objects.get(kind=Kind.ASSISTANT_CONNECTED).detail["document"] == server.url
    assert server.asked[PATH] == 1
    post_form(api, "/oauth/revoke", token=tokens["refresh_token"], client_id=server.url)
    assert not can_call(app_with(tokens))


def test_document_may_be_longer_than_the_draft_recommends(server):
    server.serve(padding="x" * 20_000)

    assert page(server).status_code == 200


def test_metadata_says_whether_documents_are_supported(api, settings, server):
    path, name = "/.well-known/oauth-authorization-server", "client_id_metadata_document_supported"
    assert api.get(path).json()[name] is True
    settings.ASSISTANT_METADATA_DOCUMENTS = False

    assert api.get(path).json()[name] is False
    assert page(server).status_code == 400
    assert server.asked[PATH] == 0


UNSAFE_URLS = """
http://localhost/client.json https://localhost https://localhost/
https://localhost/a/../client.json https://localhost/a/%2E%2e/client.json
https://localhost/./client.json https://localhost/client.json#x
https://user@localhost/client.json https://user:pass@localhost/client.json
HTTPS://localhost/client.json ftp://localhost/client.json https://localhost:8443/client.json
"""


@pytest.mark.parametrize("url", [*UNSAFE_URLS.split(), "https://localhost\\@evil.test/client.json"])
def test_unsafe_url_is_not_a_metadata_document(url):
    assert not metadata.is_document_url(url)
    assert metadata.is_document_url("https://localhost:443/client.json")


@pytest.mark.parametrize("changes", [
    {"client_id": "https://elsewhere.example/client.json"}, {"client_id": ...},
    {"client_name": ...}, {"client_name": ""}, {"redirect_uris": ...},
    {"redirect_uris": ["http://a.example/"]}, {"client_secret": "x"},
    {"client_secret_expires_at": 0}, {"token_endpoint_auth_method": "client_secret_basic"},
    {"padding": "x" * 33_000},
])  # fmt: skip
def test_invalid_document_is_refused_until_it_is_mended(server, changes):
    server.serve(**changes)

    refusal = page(server)

    assert refusal.status_code == 400
    assert "look up this app" in refusal.content.decode()
    assert not Client.objects.exists()
    server.serve()
    assert page(server).status_code == 200


@pytest.mark.parametrize("answer", [
    (404, {}, b"{}"), (302, {"Location": "/other.json"}, b""),
    (301, {"Location": "https://127.0.0.1/"}, b""), (200, {}, b"[]"), (200, {}, b"\xff"),
    (200, {}, b"[" * 5000), (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"),
    (200, {"Content-Length": "99999999"}, b"x" * 6000),
])  # fmt: skip
def test_answer_without_a_document_is_refused(server, answer):
    server.says[PATH] = answer

    assert page(server).status_code == 400
    assert server.asked[PATH] == 1


@pytest.mark.parametrize("headers", [{}, {"Transfer-Encoding": "chunked"}])
def test_large_body_is_not_read(server, headers):
    """Python's `read` takes all that follows the length -1 of a chunk."""
    server.says[PATH] = 200, headers, b"-1\r\n" + b" " * 2**26

    assert page(server).status_code == 400
    assert server.sent < 2**25  # what the sockets' buffers hold is sent


def test_slow_document_server_times_out_after_two_seconds(server):
    server.pause = 0.3
    begin = time.monotonic()

    assert page(server).status_code == 400
    assert time.monotonic() - begin < 10
    wait_until_free()


def wait_until_free():
    """Wait for the threads of calls that timed out: they end with their sockets."""
    wait_until(lambda: not metadata.metadata_client.running_calls)


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [("", 300), ("no-store", 300), ("max-age=0", 300), ("public, max-age=3600", 3600),
     ("Max-Age=99999999", 86400)],
)  # fmt: skip
def test_document_is_cached_by_max_age_within_bounds(server, time_machine, cache_control, seconds):
    server.serve(headers={"Cache-Control": cache_control} if cache_control else {})
    time_machine.move_to(timezone.now(), tick=False)
    page(server)
    time_machine.shift(seconds - 1)
    page(server)
    assert server.asked[PATH] == 1
    time_machine.shift(1)
    server.serve(client_name="Renamed")

    assert "Renamed" in page(server).content.decode()
    assert server.asked[PATH] == 2


def test_fetching_a_document_counts_as_a_credential_call(server, settings):
    settings.RATE_LIMIT_CREDENTIAL = 4
    assert page(server).status_code == 200
    assert page(server).status_code == 200  # it is stored by now
    server.serve(404)
    other_query = query(server, client_id="https://localhost/elsewhere.json")
    assert [Person(other_query).page.status_code for _ in range(3)] == [400, 400, 400]

    limited = page(server, client_id="https://localhost/third.json")
    assert limited.status_code == 429
    assert limited["Retry-After"]
    assert "x-ratelimit-remaining" not in limited.headers
    assert server.asked.total() == 4
    assert page(server).status_code == 200


def test_client_keeps_working_while_its_document_is_unavailable(api, ada, server, time_machine):
    code = authorize(Client(redirect_uris=[REDIRECT]), ada, client_id=server.url)
    client = Client.objects.get()
    tokens = redeem(api, client, code, client_id=server.url).json()
    server.serve(500)
    Client.objects.update(fresh_until=timezone.now() - timedelta(days=1))

    assert page(server).status_code == 200
    assert page(server).status_code == 200
    assert server.asked[PATH] == 2  # and not again for five minutes
    assert refresh(api, client, tokens["refresh_token"], client_id=server.url).status_code == 200


PRIVATE_ADDRESSES = """
127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.100.100.200 168.63.129.16
192.0.0.192 0.0.0.0 224.0.0.1 255.255.255.255 :: ::1 fe80::1%1 fd00:ec2::254 ff02::1
::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe ::127.0.0.1
::ffff:0:127.0.0.1 64:ff9b:1::a9fe:a9fe fec0::1 2002:7f00:1::
2001:0:4136:e378:8000:63bf:3fff:fdd2
"""


@pytest.mark.parametrize("address", PRIVATE_ADDRESSES.split())
def test_private_address_is_not_public(address):
    assert not outgoing.is_public(address)
    assert outgoing.is_public("8.8.8.8")
    assert outgoing.is_public("2606:4700::1111")


def test_host_is_looked_up_once(server, settings, monkeypatch):
    """A name that is looked up again may lead elsewhere by then (DNS rebinding)."""
    hosts = []
    getaddrinfo = socket.getaddrinfo

    def record_host(host, *args, **options):
        hosts.append(host)
        return getaddrinfo(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", record_host)
    page(server)

    assert hosts.count("localhost") == 1
    assert server.asked[PATH] == 1


def entries(*addresses):
    """What a name server tells of a host with these addresses."""
    return [(2, 1, 6, "", (address, 443)) for address in addresses]


def test_host_with_a_private_address_is_not_connected_to(server, monkeypatch):
    both = entries("8.8.8.8", "10.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: both)
    addresses = refuse_connections(monkeypatch)

    assert page(server).status_code == 400
    assert addresses == []


def refuse_connections(monkeypatch):
    """The list to which each address is added that is connected to from now on; each fails."""
    addresses = []

    def refuse(address, timeout):
        addresses.append(address)
        raise OSError

    monkeypatch.setattr(socket, "create_connection", refuse)
    return addresses


def test_slow_name_server_times_out_after_two_seconds(server, monkeypatch):
    release, getaddrinfo = threading.Event(), socket.getaddrinfo

    def slow(host, port, *args, **options):
        if port == 443:
            release.wait(30)
        return getaddrinfo(host, port, *args, **options)

    begin = time.monotonic()
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", slow)
        pages = [page(server, client_id=f"{server.url}?{number}") for number in range(2)]
        assert [page.status_code for page in pages] == [400, 400]

    assert time.monotonic() - begin < 20
    assert page(server).status_code == 200
    release.set()
    wait_until_free()


def test_at_most_four_addresses_are_tried(server, monkeypatch):
    nine = entries(*(f"192.0.2.{n}" for n in range(9)))
    monkeypatch.setattr(outgoing, "is_public", lambda address: True)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: nine)
    addresses = refuse_connections(monkeypatch)

    assert page(server).status_code == 400
    assert len(addresses) == 4


def test_silent_address_leaves_time_for_the_next(server, monkeypatch):
    """Such as that of a host whose IPv6 address is unreachable."""
    both = entries("192.0.2.1", "127.0.0.1")
    connect, getaddrinfo = socket.create_connection, socket.getaddrinfo

    def look_up(host, *args, **options):
        return both if host == "localhost" else getaddrinfo(host, *args, **options)

    def first_is_silent(address, timeout):
        if address == both[0][4]:
            time.sleep(timeout)
            raise TimeoutError
        return connect(address, timeout)

    monkeypatch.setattr(outgoing, "is_public", lambda address: True)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", first_is_silent)

    assert page(server).status_code == 200
