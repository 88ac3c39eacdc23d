"""The database's commands of the operators' pages, as `postgres`, the owner and the service."""

import re
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests import servers
from tests.cast import PASSWORD
from tests.config.guide import block
from tests.config.helpers import PRODUCTION
from tests.requests import ask
from tests.services import query

pytestmark = pytest.mark.live


@pytest.fixture
def undone(shells):
    """The installation, whose rights a test may change. Afterwards `rights.sql` restores them."""
    yield shells
    query(shells.owner, "DROP TABLE IF EXISTS later")
    query(shells.owner, Path("deploy/rights.sql").read_text(encoding="utf-8"))


def dumps(shells):
    return sorted(shells.folder.glob("backups/*.dump"))


def test_service_has_the_rights_it_needs_and_no_more(shells):
    assert not shells.can_rewrite_audit_log()
    refused = [
        "TRUNCATE audit_record",
        "UPDATE audit_record SET kind = 'x'",
        "ALTER TABLE audit_record DISABLE TRIGGER ALL",
        "DROP TRIGGER audit_record_guard ON audit_record",
        "CREATE TABLE own (id int)",
    ]
    for statement in refused:
        with pytest.raises(InsufficientPrivilege):
            query(shells.service, statement)


def test_backup_is_whole_private_and_dated(shells):
    before = dumps(shells)
    shells.as_operator("sh deploy/backup.sh")

    (dump,) = set(dumps(shells)) - set(before)
    assert re.fullmatch(r"consulting-\d{4}-\d\d-\d\d-\d{6}\.dump", dump.name)
    assert dump.stat().st_mode & 0o777 == 0o600
    assert not list(shells.folder.glob("backups/*.part"))


def test_backup_that_fails_leaves_the_older_ones_alone(undone):
    query(undone.owner, "REVOKE SELECT ON accounts_user FROM consulting_service")
    before = {path: path.stat() for path in dumps(undone)}

    assert undone.as_operator("sh deploy/backup.sh", check=False).returncode != 0
    assert {path: path.stat() for path in dumps(undone)} == before
    assert not list(undone.folder.glob("backups/*.part"))


def test_backup_is_restored_by_its_commands(shells):
    shells.as_operator("sh deploy/backup.sh")
    tables = "SELECT count(*) FROM accounts_user", "SELECT coalesce(max(id), 0) FROM audit_record"
    before = [query(shells.owner, statement) for statement in tables]
    version = query(shells.owner, "SELECT token_version FROM accounts_user")
    query(shells.owner, "CREATE TABLE of_a_later_release (id uuid PRIMARY KEY)")
    shells.manage("signout op@example.com")
    used = "audit.record(audit.models.Kind.RECOVERY_CODE_USED, subject='op@example.com')"
    shells.manage(f'shell -c "import audit; {used}"')

    shells.as_postgres(block("operations", "## Restore"))
    shells.as_operator(
        block("operations", "with the release that made the backup"), dump=str(dumps(shells)[-1])
    )

    assert query(shells.service, tables[0]) == before[0]
    assert query(
        shells.service,
        "SELECT kind, detail->'users'' sessions', id > %s FROM audit_record"
        " ORDER BY id DESC LIMIT 1",
        before[1][0][0],
    ) == [("database.restored", 1, True)]
    assert query(shells.service, "SELECT token_version FROM accounts_user") > version
    assert query(shells.service, "SELECT to_regclass('of_a_later_release')") == [(None,)]
    assert not shells.can_rewrite_audit_log()
    with pytest.raises(InsufficientPrivilege, match="permission denied"):
        query(shells.service, "UPDATE audit_record SET kind = 'x'")
    kept = f"{shells.owner}_before"
    assert query(kept, "SELECT count(*) FROM audit_record WHERE kind = 'logout.everywhere'") == [
        (1,)
    ]
    assert shells.run(block("operations", "their restored factors"), **shells.local).stdout == (
        "op@example.com\n"
    )
    shells.as_postgres("dropdb consulting_before")


def test_tables_of_later_migrations_are_open_to_the_service(undone):
    query(undone.owner, "CREATE TABLE later (id serial PRIMARY KEY, word text)")

    query(undone.service, "INSERT INTO later (word) VALUES ('x'); UPDATE later SET word = 'y'")

    assert not undone.can_rewrite_audit_log()
    undone.as_operator("sh deploy/backup.sh")


@pytest.mark.parametrize("role", ["consulting", "postgres"])
def test_check_warns_of_a_service_that_owns_its_tables(shells, role):
    assert shells.can_rewrite_audit_log(DATABASE_URL=shells.url(role))


def test_check_warns_of_a_database_that_was_14_and_has_no_locale(shells):
    shells.as_postgres("createdb --locale C --template template0 old")
    shells.as_postgres("psql old -c 'GRANT CREATE ON SCHEMA public TO PUBLIC'")
    url = f"{shells.service.rpartition('/')[0]}/old"
    assert shells.can_rewrite_audit_log(DATABASE_URL=url)
    assert "backoffice.W004" in shells.manage("check --deploy", DATABASE_URL=url).stderr


def test_unavailable_database_is_not_reported_as_missing_rights(shells):
    away = {"DATABASE_URL": f"postgres://me@127.0.0.1:{servers.free_port()}/consulting"}

    assert "(backoffice." not in shells.manage("check --deploy", **away).stderr


@pytest.fixture
def pgpass(shells, tmp_path):
    """The service's PGPASSFILE, for a server that asks the service's role for a password."""
    path = tmp_path / "pgpass"
    path.write_text("*:*:*:consulting_service:secret\n")
    path.chmod(0o600)
    rules = shells.server.data / "pg_hba.conf"
    kept = rules.read_text()
    rules.write_text("host all consulting_service all scram-sha-256\n" + kept)
    shells.server.execute("SELECT pg_reload_conf()")
    yield path
    rules.write_text(kept)
    shells.server.execute("ALTER ROLE consulting_service PASSWORD 'secret'")
    shells.server.execute("SELECT pg_reload_conf()")


def test_database_password_is_changed_without_a_failed_request(shells, new_service, pgpass):
    environment = {
        "DATABASE_URL": shells.service.replace(":secret@", "@"),
        "PGPASSFILE": str(pgpass),
        "SECRET_KEY": PRODUCTION["SECRET_KEY"],
        "RATE_LIMIT_CREDENTIAL": "100000",
        "RATE_LIMIT_PUBLIC": "100000",
    }
    service, later = new_service(**environment).start(), new_service(**environment)
    answers, stopping = [], threading.Event()

    def log_in(service=service):
        body = {"email": f"{uuid.uuid4().hex}@example.com", "password": PASSWORD}
        return ask(service.url, "POST", "/auth/login", body).status

    def log_in_on():
        while not stopping.is_set():
            answers.append(log_in())

    with ThreadPoolExecutor(4) as clients:
        clients.map(lambda _: log_in_on(), range(4))
        try:
            servers.wait_until(lambda: len(answers) > 20)
            change = block("operations", "## Change the database password")
            shells.run(change, keyboard_input="another one\nanother one\n", **shells.local)
            pgpass.write_text("*:*:*:consulting_service:another one\n")
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(shells.service)
            there = len(answers)
            servers.wait_until(lambda: len(answers) > there + 20)
        finally:
            stopping.set()

    assert set(answers) == {401}
    assert log_in(later.start()) == 401


def test_status_names_the_query_that_blocks_the_service(shells):
    with psycopg.connect(shells.owner) as locker:
        locker.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
        done = shells.manage("status", check=False)

    assert re.search(
        r"down +blocked by pid \d+, user consulting, since 20\S+ \S+: LOCK TABLE", done.stdout
    )
