"""The service as it runs in production, for tests that need its processes."""

import contextlib
import os
import subprocess
import sys
import uuid
from pathlib import Path

import psycopg
import pytest

from tests import servers
from tests.cast import PASSWORD
from tests.logs import SECRETS
from tests.requests import ask

SECRET_KEY = "the secret of all the tests' services"


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
