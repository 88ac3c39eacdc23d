"""Limiters in a known state, and stores that a test may break."""

import io
import json
import os
import selectors
import signal
import socket
import socketserver
import threading
import time
from dataclasses import dataclass
from http.client import HTTPResponse

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.urls import resolve
from django_redis import get_redis_connection
from redis import Redis

from config.views import NotFoundView
from keys.models import SigningKey
from signin import login
from tests import servers
from tests.conftest import PASSWORD, Service
from tests.servers import RedisServer, free_port
from throttling import limiter as limiters
from throttling.limiter import limiter

ALL_CREDENTIAL_PATHS = [
    "/auth/login",
    "/auth/signup",
    "/auth/complete-signup",
    "/auth/register",
    "/auth/refresh",
    "/invitations/accept",
    "/password-changes",
    "/password-changes/redeem",
]
CREDENTIAL_PATHS = [p for p in ALL_CREDENTIAL_PATHS if resolve(p).func.cls is not NotFoundView]


def limits(answer):
    """The headers of an answer that tell of limits."""
    names = ("x-ratelimit-", "retry-after")
    return {k.lower(): v for k, v in answer.headers.items() if k.lower().startswith(names)}


class Clock:
    """Stands in for `time` in the limiter: it moves only when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class FakeRedis(socketserver.ThreadingTCPServer):
    """Answers every command with `reply` after the same pause; with none it hangs up. A connection
    from before `generation` changed gets no more answers, as behind a partition."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100

    def __init__(self, reply, pause=0):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                generation = self.server.generation
                while command := self.request.recv(65536):
                    time.sleep(self.server.pause)
                    if generation != self.server.generation:
                        continue
                    if not self.server.reply:
                        return
                    named = b"SETNAME" in command
                    self.request.sendall(b"+OK\r\n" if named else self.server.reply)

        super().__init__(("127.0.0.1", 0), Handler)
        self.reply, self.pause = reply, pause
        self.port = self.server_address[1]
        self.connections = self.generation = 0

    def get_request(self):
        peer, address = super().get_request()
        self.connections += 1
        return peer, address


class Bytes:
    """What HTTPResponse takes for a socket."""

    def __init__(self, content):
        self.content = content

    def makefile(self, mode):
        return io.BytesIO(self.content)


@dataclass
class Answer:
    """An answer as it came over the wire: its head's bytes are kept."""

    content: bytes

    def __post_init__(self):
        response = HTTPResponse(Bytes(self.content))
        response.begin()
        self.status_code, self.body = response.status, response.read()
        self.headers = dict(response.getheaders())

    def json(self):
        return json.loads(self.body)


def message(method, path, body=None, **headers):
    """A request as its bytes; a header's underscores are hyphens. A body of bytes is a form's."""
    payload = (
        body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    )
    kind = "application/x-www-form-urlencoded" if isinstance(body, bytes) else "application/json"
    lines = [f"{method} {path} HTTP/1.1\r\nConnection: close\r\n".encode()]
    headers = {"Host": "localhost", "Content-Length": str(len(payload))} | headers
    if body is not None:
        headers = {"Content-Type": kind} | headers
    for name, value in headers.items():
        content = value.encode("latin-1") if isinstance(value, str) else value
        lines.append(name.replace("_", "-").encode() + b": " + content + b"\r\n")
    return b"".join(lines) + b"\r\n" + payload


def at_once(service, messages):
    """Send requests on a connection each, all of them before the first answer is read.

    A connection is closed as soon as it has been answered: the server waits for that.
    """
    read = [b""] * len(messages)
    with selectors.DefaultSelector() as waiting:
        for number in range(len(messages)):
            peer = socket.create_connection(("127.0.0.1", service.port), 10)
            waiting.register(peer, selectors.EVENT_READ, number)
        for key in list(waiting.get_map().values()):
            key.fileobj.sendall(messages[key.data])
        while waiting.get_map():
            ready = waiting.select(timeout=20)
            assert ready, "no answer within 20 seconds"
            for key, _ in ready:
                content = key.fileobj.recv(65536)
                read[key.data] += content
                if not content:
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()
    return [Answer(content) for content in read]


def ask(service, method, path, body=None, **headers):
    """One request on a connection of its own, which any of the processes may take."""
    return at_once(service, [message(method, path, body, **headers)])[0]


def shared_service(folder, **environment):
    """A service on the tests' own database and keys: what a test makes, the service sees."""
    environment = {
        "DATABASE_URL": servers.POSTGRES.url(connection.settings_dict["NAME"]),
        "DATA_DIR": os.environ["DATA_DIR"],
        "SECRET_KEY": django_settings.SECRET_KEY,
    } | environment
    return Service(folder, **environment)


@pytest.fixture(scope="module")
def kept_key(session_key, django_db_setup, django_db_blocker):
    """The tests' signing key, in the database for services; the end of a test leaves it there."""
    SigningKey._meta.managed = False
    with django_db_blocker.unblock():
        SigningKey.from_private_key(session_key.private, session_key.signs_from).save()
    yield
    SigningKey._meta.managed = True
    with django_db_blocker.unblock():
        SigningKey.objects.all().delete()
        connection.close()


def use_store(settings, url):
    settings.REDIS_URL = url
    options = {"CONNECTION_POOL_KWARGS": settings.REDIS_CONNECTION}
    settings.CACHES = {
        "default": settings.CACHES["default"] | {"LOCATION": url, "OPTIONS": options}
    }
    limiter.reset()


@pytest.fixture(autouse=True)
def high_credential_limit():
    """This folder is about the limits: it meets the real ones."""


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(limiters, "time", clock)
    return clock


@pytest.fixture
def redis(settings):
    """A client of the run's shared store, emptied."""
    client = get_redis_connection("default")
    client.flushall()
    return client


@pytest.fixture
def quick_passwords(monkeypatch):
    """Compares passwords without hashing, for tests of many guesses: a hash takes 34 ms."""
    monkeypatch.setattr(login, "check_password", lambda typed, *_: typed == PASSWORD)


@pytest.fixture
def in_process(settings):
    settings.REDIS_URL = None


@pytest.fixture
def store(settings):
    """A redis-server that this test alone uses, and may stop."""
    server = RedisServer()
    use_store(settings, server.url)
    yield server
    server.process.send_signal(signal.SIGCONT)
    server.stop()


@pytest.fixture
def redis_of_store(store):
    """A client of the store that this test alone uses."""
    with Redis(port=store.port) as client:
        yield client


@pytest.fixture
def absent_store(settings):
    use_store(settings, f"redis://127.0.0.1:{free_port()}/0")


@pytest.fixture
def fake_store(settings):
    """Makes a store that always replies the same: `fake_store(reply, pause=seconds)`."""
    servers = []

    def make(reply, pause=0, login=""):
        server = FakeRedis(reply, pause)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        use_store(settings, f"redis://{login}127.0.0.1:{server.port}/0")
        return server

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()
