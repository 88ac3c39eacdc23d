"""Fixtures for the limiter: real and fake Redis servers that a test may stop, and a clock."""

import os
import signal
import socketserver
import threading
import time
from functools import partial

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django_redis import get_redis_connection

from keys.models import SigningKey
from signin import credentials
from tests import servers
from tests.cast import PASSWORD
from tests.races import race
from tests.requests import ask
from tests.servers import RedisServer, free_port
from tests.services import Service
from throttling import limiter as limiters
from throttling.limiter import limiter

CREDENTIAL_PATHS = [
    "/auth/login",
    "/auth/signup",
    "/auth/complete-signup",
    "/auth/register",
    "/auth/refresh",
    "/invitations/accept",
    "/password-changes",
    "/password-changes/redeem",
]


def limits(answer):
    """The answer's headers about rate limits, by their names in lower case."""
    names = ("x-ratelimit-", "retry-after")
    return {k.lower(): v for k, v in answer.headers.items() if k.lower().startswith(names)}


class Clock:
    """Replaces the module `time` in the limiter. A test moves it by `now`."""

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


def message(*arguments, **headers):
    """A call for `at_once`, with the arguments of `tests.requests.ask` after the URL."""
    return lambda service: ask(service.url, *arguments, **headers)


def at_once(service, calls):
    """The answers to calls that are made at the same moment, each on a connection of its own."""
    return race(*[partial(call, service) for call in calls])


def shared_service(folder, **environment):
    """A service with the tests' database and keys, so that it sees the rows that a test makes."""
    environment = {
        "DATABASE_URL": servers.POSTGRES.url(connection.settings_dict["NAME"]),
        "DATA_DIR": os.environ["DATA_DIR"],
        "SECRET_KEY": django_settings.SECRET_KEY,
    } | environment
    return Service(folder, **environment)


@pytest.fixture(scope="module")
def kept_key(session_key, django_db_setup, django_db_blocker):
    """Stores the tests' signing key for services. The end of a test does not delete it."""
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
def high_limits():
    """Replaces the fixture that raises the limits: the tests of this folder need the real ones."""


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(limiters, "time", clock)
    return clock


@pytest.fixture
def redis(settings):
    """A client of the Redis that all tests share, which is emptied."""
    client = get_redis_connection("default")
    client.flushall()
    return client


@pytest.fixture
def quick_passwords(monkeypatch):
    """Compares passwords without hashing, for tests of many guesses: a hash takes 34 ms."""
    monkeypatch.setattr(credentials, "check_password", lambda password, *_: password == PASSWORD)


@pytest.fixture
def in_process(settings):
    settings.REDIS_URL = None


@pytest.fixture
def store(settings):
    """A Redis server for one test, which may stop it."""
    server = RedisServer()
    use_store(settings, server.url)
    yield server
    server.process.send_signal(signal.SIGCONT)
    server.stop()


@pytest.fixture
def absent_store(settings):
    use_store(settings, f"redis://127.0.0.1:{free_port()}/0")


@pytest.fixture
def fake_store(settings):
    """Makes a server that answers every command alike: `fake_store(reply, pause=seconds)`."""
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
