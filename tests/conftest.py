"""The state that each test begins with: keys, limits, clocks of mails and hashes."""

import threading
from datetime import timedelta
from importlib import import_module

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as django_settings
from django.db import connection, connections
from django.utils import timezone

from config.views import could_read_users
from keys.cache import signing_keys
from keys.models import SigningKey
from mail import outbox
from signin import hashers
from signin.hashers import OwaspArgon2PasswordHasher as Hasher
from tests import servers
from throttling.limiter import limiter
from throttling.throttles import TIERS

# Each comes after those that it imports, so that pytest can rewrite its assertions.
pytest_plugins = ["tests.cast", "tests.logs", "tests.clients", "tests.services", "tests.costs"]

# Fixtures that start a server. A test that uses one is live: `make test-live` runs it.
STARTS_A_SERVER = {"new_database", "new_service", "new_shared_service", "shells"}


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items):
    for item in items:
        if STARTS_A_SERVER & set(item.fixturenames):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Between tests that commit, Django empties tables by TRUNCATE, which the audit log refuses."""
    if connection.vendor != "postgresql":
        return
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_record DISABLE TRIGGER audit_record_truncate")


@pytest.fixture(scope="session", autouse=True)
def patient_clients():
    """A busy machine is no outage; the tests of outages connect by settings of their own."""
    patience = dict.fromkeys(["socket_timeout", "socket_connect_timeout"], 60)
    patient = django_settings.REDIS_CONNECTION | patience
    django_settings.CACHES["default"]["OPTIONS"]["CONNECTION_POOL_KWARGS"] = patient
    connections.settings["default"]["OPTIONS"]["connect_timeout"] = 60


@pytest.fixture(scope="session", autouse=True)
def loaded_views():
    """Load all views before a test changes a setting of which modules keep the value."""
    import_module(django_settings.ROOT_URLCONF)


@pytest.fixture(scope="session", autouse=True)
def cheap_hashes():
    """Hash passwords quickly in this process; services that tests start hash as in production."""
    Hasher.time_cost, Hasher.memory_cost = 1, 64


@pytest.fixture
def real_hashes(monkeypatch):
    """The parameters of production, for tests that are about them."""
    monkeypatch.setattr(Hasher, "time_cost", 2)
    monkeypatch.setattr(Hasher, "memory_cost", 19 * 1024)


def new_private_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="session")
def session_key():
    """The signing key of all tests that are not about keys; it is in no database."""
    key = SigningKey.from_private_key(new_private_key(), timezone.now())
    assert key.private  # decrypted by the SECRET_KEY of all tests, and kept
    return key


@pytest.fixture(autouse=True)
def one_signing_key(session_key):
    """Each test begins with that key; what empties the database between tests makes no other."""
    signing_keys.__init__()
    signing_keys.keys = {session_key.kid: session_key}
    signing_keys.signer = session_key


@pytest.fixture(autouse=True)
def fresh_health():
    """Each test asks the database itself."""
    could_read_users.cache_clear()


@pytest.fixture(autouse=True)
def fresh_limits():
    """Each test begins with no request counted."""
    if servers.REDIS is not None:
        servers.REDIS.client.flushall()
    limiter.reset()


LIMITS = [f"RATE_LIMIT_{throttle.tier.upper()}" for throttle in TIERS]


@pytest.fixture(autouse=True)
def high_limits(settings):
    """Only tests that are about the limits meet them."""
    for name in LIMITS:
        setattr(settings, name, 10_000)


@pytest.fixture(autouse=True)
def patient_hashes(monkeypatch):
    """Only tests that are about it are told to come back: a busy machine may hash for long."""
    monkeypatch.setattr(hashers, "MAX_WAIT_SECONDS", 60)
    monkeypatch.setattr(hashers, "caller_slots", threading.BoundedSemaphore(100))


@pytest.fixture(autouse=True)
def prompt_mails(monkeypatch):
    """Only tests that are about it wait for requested mails."""
    monkeypatch.setattr(outbox, "REQUEST_SPREAD", timedelta(0))
