"""docs/embedded-database.md: the database is copied while it serves, and moved to PostgreSQL."""

import itertools
import sqlite3
import threading
from contextlib import closing

import pytest
from django.apps import apps

from tests import servers
from tests.cast import PASSWORD
from tests.config.guide import Shells, block
from tests.requests import ask
from tests.services import Service, query

pytestmark = pytest.mark.live

COPY = block("embedded-database", "## Back up")
MADE_BY_MIGRATE = {"django_content_type", "auth_permission"}
LOG_IN = {"email": "op@example.com", "password": PASSWORD}


class Embedded(Service):
    """A service on SQLite in a folder, with a superuser."""

    def __init__(self, folder):
        file = f"sqlite:///{folder}/db.sqlite3"
        limits = {"RATE_LIMIT_CREDENTIAL": "100000", "RATE_LIMIT_PUBLIC": "100000"}
        super().__init__(folder, DATABASE_URL=file, DATA_DIR=str(folder), REDIS_URL="", **limits)
        self.manage("migrate", "-v0")
        del self.environment["DATABASE_URL"]  # as for `make run`, which has made the file
        self.add_operator(LOG_IN["email"])

    def log_in(self):
        return ask(self.url, "POST", "/auth/login", LOG_IN)


@pytest.fixture
def embedded(tmp_path):
    service = Embedded(tmp_path)
    yield service
    service.stop()


def counts(folder):
    """The number of rows of each of the service's tables in the SQLite file."""
    with closing(sqlite3.connect(folder / "db.sqlite3")) as file:
        tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
        return {
            table: file.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in sorted(tables - MADE_BY_MIGRATE)
        }


def test_copy_of_the_embedded_database_is_whole(embedded, tmp_path):
    embedded.start()
    stopping = threading.Event()

    def write(number=0):
        ask(embedded.url, "POST", "/auth/signup", {"email": f"a{number}@example.com"})

    def write_on():
        for number in itertools.takewhile(lambda _: not stopping.is_set(), itertools.count(1)):
            write(number)

    write()
    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        Shells(servers.POSTGRES, tmp_path).run(COPY)
        written = counts(tmp_path)["mail_outgoingmail"]
    finally:
        stopping.set()
        writer.join()

    (copy,) = tmp_path.glob("db-*.sqlite3")
    with closing(sqlite3.connect(copy)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        users = file.execute("SELECT email FROM accounts_user").fetchall()
        mails = file.execute("SELECT count(*) FROM mail_outgoingmail").fetchone()[0]
    assert users == [("op@example.com",)]
    assert 0 < mails <= written
    assert copy.stat().st_mode & 0o777 == 0o600


def test_copy_of_the_embedded_database_is_restored(embedded, tmp_path):
    embedded.start()
    before = embedded.log_in().json()
    Shells(servers.POSTGRES, tmp_path).run(COPY)
    embedded.manage("createcompany", "Engines", "ada@example.com")
    embedded.stop()

    (copy,) = tmp_path.glob("db-*.sqlite3")
    Shells(servers.POSTGRES, tmp_path).run(block("embedded-database", "## Restore"), copy=str(copy))
    embedded.start()

    assert embedded.log_in().status == 200
    body = {"refresh_token": before["refresh_token"]}
    assert ask(embedded.url, "POST", "/auth/refresh", body).status == 401
    assert counts(tmp_path)["invitations_invitation"] == 0


def test_embedded_database_moves_to_postgresql(embedded, shells, tmp_path):
    embedded.start()
    before = embedded.log_in().json()
    embedded.manage("createcompany", "Engines", "ada@example.com")
    embedded.stop()
    installation = Shells(shells.server, tmp_path, "moved")
    installation.as_postgres("createdb --owner consulting moved")

    installation.run(
        block("embedded-database", "## Move to PostgreSQL"), OWNER_URL=installation.owner
    )

    rows_before = counts(tmp_path)
    rows = {
        table: query(installation.service, f"SELECT count(*) FROM {table}")[0][0]
        for table in rows_before
    }
    assert rows == rows_before
    embedded.environment["DATABASE_URL"] = installation.service
    embedded.start()
    body = {"refresh_token": before["refresh_token"]}
    assert ask(embedded.url, "POST", "/auth/refresh", body).status == 200
    assert embedded.log_in().status == 200  # writes to the audit log, past the ids that moved
    assert not (tmp_path / "moved.json").exists()
