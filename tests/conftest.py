"""The cast, the ways to talk to the service, and the state that each test begins with."""

import contextlib
import logging
import os
import re
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as django_settings
from django.contrib.auth.hashers import make_password
from django.core import mail
from django.db import connection, connections, transaction
from django.test import Client
from django.utils import timezone
from django_redis import get_redis_connection

from accounts import tokens
from accounts.models import Account, Role, User
from config.logs import TextFormatter
from config.views import could_read_users
from invitations.models import Invitation
from keys.cache import signing_keys
from keys.models import SigningKey
from mail import outbox
from signin import hashers
from signin.hashers import OwaspArgon2PasswordHasher as Hasher
from signin.models import SignupLink
from tests import servers
from tests.requests import ask
from tests.servers import wait_until
from throttling.limiter import limiter
from throttling.throttles import TIERS
from worker.rounds import Worker

PASSWORD = "correct horse battery"  # every member of the cast's
SECRET_KEY = "the secret of all the tests' services"
# The body of the credential tier's 429, and of a lock's.
TOO_MANY_ATTEMPTS = {"error": "too many attempts; please try again later"}


# What no log line may hold: the password above, a JWT, a link in a mail.
SECRETS = re.compile(rf"{PASSWORD}|eyJ[\w-]{{10,}}\.eyJ|#token=|Bearer ")


# Fixtures that start a server. A test that uses one is live: `make test-live` runs it.
STARTS_A_SERVER = {"new_database", "new_service", "new_shared_service", "shells"}


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items):
    for item in items:
        if STARTS_A_SERVER & set(item.fixturenames):
            item.add_marker(pytest.mark.live)


class API:
    """A JSON client: bodies in, `(status, body)`-like Django responses out; its own cookies."""

    def __init__(self, **headers):
        self.client = Client(raise_request_exception=True)
        self.headers = headers

    @property
    def cookies(self):
        return self.client.cookies

    def call(self, method, path, body=None, **options):
        headers = self.headers | options.pop("headers", {})
        if method != "get":
            data = b"" if body is None else body
            options = {"data": data, "content_type": "application/json"} | options
        return getattr(self.client, method)(path, headers=headers, **options)

    def get(self, path, **options):
        return self.call("get", path, **options)

    def post(self, path, body=None, **options):
        return self.call("post", path, body, **options)

    def patch(self, path, body=None, **options):
        return self.call("patch", path, body, **options)

    def delete(self, path, **options):
        return self.call("delete", path, **options)


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
def cheap_hashes():
    """Hash passwords quickly in this process; services that tests start hash as in production."""
    Hasher.time_cost, Hasher.memory_cost = 1, 64


@pytest.fixture
def real_hashes(monkeypatch):
    """The parameters of production, for tests that are about them."""
    monkeypatch.setattr(Hasher, "time_cost", 2)
    monkeypatch.setattr(Hasher, "memory_cost", 19 * 1024)


@pytest.fixture(scope="session")
def password_hash(cheap_hashes):
    """One hash for the whole cast."""
    return make_password(PASSWORD)


@pytest.fixture(scope="session", autouse=True)
def no_secret_in_any_log():
    """All that the run logs is searched when the run is over."""
    lines = []
    handler = logging.Handler()
    formatter = TextFormatter()
    handler.emit = lambda record: lines.append(formatter.format(record))
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)
    told = [line for line in lines if SECRETS.search(line)]
    assert told == [], "a password, a token or a link is logged (SECRETS in tests/conftest.py)"


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
    monkeypatch.setattr(hashers, "PATIENCE", 60)
    monkeypatch.setattr(hashers, "admitted", threading.BoundedSemaphore(100))


@pytest.fixture(autouse=True)
def prompt_mails(monkeypatch):
    """Only tests that are about it wait for requested mails."""
    monkeypatch.setattr(outbox, "SPREAD", timedelta(0))


@pytest.fixture
def api():
    """A stranger."""
    return API()


@pytest.fixture
def new_user(db, password_hash):
    def make(email=None, **fields):
        fields.setdefault("account", None)
        fields["account"] = fields["account"] or Account.objects.create(name="Analytical Engines")
        fields = {"first_name": "Some", "last_name": "Body", "password": password_hash} | fields
        email = email or f"{uuid.uuid4().hex[:12]}@example.com"
        return User.objects.create(email=email, **fields)

    return make


@pytest.fixture
def ada(new_user):
    """The admin of a company."""
    return new_user("ada@example.com", first_name="Ada", last_name="Lovelace", role=Role.ADMIN)


@pytest.fixture
def bob(new_user, ada):
    """A member of Ada's company."""
    return new_user("bob@example.com", first_name="Bob", last_name="Boole", account=ada.account)


@pytest.fixture
def eve(new_user):
    """The admin of another company."""
    account = Account.objects.create(name="Eavesdroppers")
    return new_user("eve@example.org", first_name="Eve", role=Role.ADMIN, account=account)


def signing_key():
    """The key that signs in this process."""
    return signing_keys.signer


def bearer(user):
    """A client that carries a new access token of the user."""
    access, _ = tokens.issue_pair(User.objects.get(pk=user.pk))
    return API(authorization=f"Bearer {access}")


@pytest.fixture
def as_ada(ada):
    return bearer(ada)


@pytest.fixture
def as_bob(bob):
    return bearer(bob)


@pytest.fixture
def as_eve(eve):
    return bearer(eve)


@pytest.fixture
def signup_link(db):
    link = SignupLink.objects.create(email="charles@example.com")
    link.mail_was_sent(timezone.now())
    return SignupLink.objects.get()


@pytest.fixture
def invitation(ada):
    """One that Ada has sent."""
    return Invitation.objects.invite(ada, "charles@example.com")


@pytest.fixture
def operator(db):
    """A browser in which an operator is signed in to the admin site."""
    client = Client()
    client.force_login(User.objects.create_superuser("op@example.com", "an operator's"))
    return client


class Service:
    """The service as it runs in production: gunicorn with a database of its own.

    `environment` overrides any variable; `log` holds what the processes said. `code` is this
    code; a release has other code.
    """

    def __init__(self, folder, **environment):
        self.folder = folder
        self.code = Path.cwd()
        self.port = servers.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = os.environ | {
            "PORT": str(self.port),
            "DATA_DIR": str(folder / "data"),
            "SECRET_KEY": SECRET_KEY,
            "COOKIE_SECURE": "false",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "EMAIL_URL": f"filemail:///{folder}/mails",  # not into the log, which is searched
        }
        self.environment |= environment
        self.log_path = folder / "service.log"
        self.processes = []

    @property
    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def spawn(self, *command, **options):
        """Start one of the service's programs, with its environment and log; Popen's `options`."""
        with self.log_path.open("ab") as log:
            here = {"cwd": self.code, "env": self.environment, "stdout": log, "stderr": log}
            process = subprocess.Popen([sys.executable, *command], **here | options)
        self.processes.append(process)
        return process

    def manage(self, *words):
        """Run a manage.py command to its end, and give its output."""
        return self.run("manage.py", *words)

    def add_operator(self, email="ada@example.com"):
        """A superuser, as the command makes one."""
        person = {"EMAIL": email, "PASSWORD": PASSWORD}
        self.environment |= {f"DJANGO_SUPERUSER_{name}": value for name, value in person.items()}
        self.manage("createsuperuser", "--noinput")
        return self

    def bearer(self, email="ada@example.com"):
        """The header by which a user is signed in, with PASSWORD."""
        answer = ask(self.url, "POST", "/auth/login", {"email": email, "password": PASSWORD})
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}

    def query(self, statement, *values):
        """Ask its database directly."""
        return query(self.environment["DATABASE_URL"], statement, *values)

    def run(self, *words):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.code,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def start(self):
        self.server = self.spawn("-m", "gunicorn", "config.wsgi")
        servers.wait_for_port(self.port, 60)
        return self

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:  # a worker in the hands of a hanging server
                process.kill()
                process.wait()
        if self.processes:
            assert not SECRETS.search(self.log)


def run_python(program, **environment):
    """What a program prints, in a process of its own."""
    command, told = [sys.executable, "-c", program], os.environ | environment
    return subprocess.run(command, env=told, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def migrated_template(tmp_path_factory):
    """The name of a migrated, empty database that new ones are copied from."""
    servers.POSTGRES.execute("CREATE DATABASE migrated")
    url = servers.POSTGRES.url("migrated")
    Service(tmp_path_factory.mktemp("migrate"), DATABASE_URL=url).manage("migrate", "-v0")
    return "migrated"


@pytest.fixture(scope="session")
def new_database(migrated_template):
    """Makes an empty, migrated PostgreSQL database, and gives its address."""

    def make():
        name = f"t_{uuid.uuid4().hex[:12]}"
        servers.POSTGRES.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
        return servers.POSTGRES.url(name)

    return make


@contextlib.contextmanager
def services(folder, new_database):
    """Makes services; each has its own database and, unless told otherwise, the shared Redis."""
    made, databases = [], []

    def make(**environment):
        if "DATABASE_URL" not in environment:
            databases.append(new_database())
            environment["DATABASE_URL"] = databases[-1]
        home = folder / f"service{len(made)}"
        home.mkdir()
        made.append(Service(home, **environment))
        return made[-1]

    yield make
    for service in made:
        service.stop()
    for url in databases:  # each takes 10 MB, and /tmp may be in memory
        servers.POSTGRES.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")


@pytest.fixture
def new_service(tmp_path, new_database):
    with services(tmp_path, new_database) as make:
        yield make


@pytest.fixture(scope="module")
def new_shared_service(tmp_path_factory, new_database):
    """For tests of one file that leave a service as it was: a start takes two seconds."""
    with services(tmp_path_factory.mktemp("shared"), new_database) as make:
        yield make


def query(url, statement, *values):
    """Ask the database at this address directly."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def close_connections():
    """At the end of a test's thread: its database connections go with it."""
    connections.close_all()


def mailed():
    """The newest mail, once the worker has done what there is to do."""
    Worker().work_round()
    return mail.outbox[-1]


def mailed_token():
    """The token in the newest mail, found as a person would: in its text."""
    return re.search(r"#token=(\S+)", str(mailed().body))[1]


def race(*calls):
    """What the calls return when each begins at the same moment in a thread of its own."""
    start = threading.Barrier(len(calls))

    def run(call):
        try:
            start.wait()
            return call()
        finally:
            close_connections()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def is_waited_for():
    """Whether a database connection waits for another one's lock."""
    return query(servers.POSTGRES.url(), "SELECT 1 FROM pg_locks WHERE NOT granted")


def call_before_commit(change, call):
    """What `call` returns or raises, made while the transaction of `change` is open, which commits
    as soon as the call waits for it. For tests marked `django_db(transaction=True)`."""

    def run():
        try:
            return call()
        finally:
            close_connections()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            change()
            result = thread.submit(run)
            wait_until(lambda: result.done() or is_waited_for())
        return result.result()


# What clients send, of all that Redis counts: what runs inside the script is left out.
FROM_CLIENTS = ["eval", "evalsha", "script", "ping", "get", "hello", "client", "select", "auth"]


def commands():
    """Redis commands that clients have sent so far."""
    stats = get_redis_connection().info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in FROM_CLIENTS)


@pytest.fixture
def costs():
    """Makes a call and gives its status, its statements and its Redis commands."""
    # Connects, and loads the script.
    limiter.count_request("public", "198.51.100.1", 10, strict=True)

    def measure(call):
        statements = []

        def note(execute, sql, *args):
            statements.append(sql)
            return execute(sql, *args)

        before = commands()
        with connection.execute_wrapper(note):
            answer = call()
        return answer.status_code, len(statements), commands() - before

    return measure
