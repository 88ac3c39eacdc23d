"""A migration meets tables that have grown for years, and hosts that serve meanwhile."""

from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.db.migrations import AddField, AddIndex, AlterField, CreateModel, RemoveIndex
from django.db.migrations.loader import MigrationLoader

from audit.online import AddIndexOnline
from tests.releases.code import MIGRATE_TO
from tests.servers import wait_until
from tests.tables import compare

pytestmark = pytest.mark.live

BUILDING = "SELECT count(*) FROM pg_stat_activity WHERE query ~ '^CREATE INDEX CONCURRENTLY'"
BREAK_OFF = BUILDING.replace("count(*)", "pg_cancel_backend(pid)")
VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'mail_of_address'::regclass"
WRITE = "UPDATE mail_outgoingmail SET kind = kind"


def migrations():
    """Those of ours after each app's first, in an order that every process of a run has."""
    labels = {app.label for app in apps.get_app_configs() if Path(app.path).parent == Path.cwd()}
    found = MigrationLoader(None).disk_migrations.values()
    later = [one for one in found if one.app_label in labels and one.dependencies]
    return sorted(later, key=str)


@pytest.mark.parametrize("migration", migrations(), ids=str)
def test_index_of_a_table_that_is_there_is_made_online(migration):
    made = {it.name_lower for it in migration.operations if isinstance(it, CreateModel)}
    indexes = [it for it in migration.operations if isinstance(it, AddIndex)]
    late = [it for it in indexes if it.model_name_lower not in made]

    if late:
        advice = "use AddIndexOnline (audit/online.py), alone in a migration with `atomic = False`"
        assert not migration.atomic, advice
        online = [isinstance(it, AddIndexOnline | RemoveIndex) for it in migration.operations]
        assert all(online), advice


def test_no_column_brings_an_index_of_its_own_to_a_table_that_is_there():
    """Such an index is made while others wait; of the clients' table it is of a day's rows, and of
    the others only the column's name in the back office is changed."""
    found = {
        f"{it.model_name_lower}.{it.name}"
        for migration in migrations()
        for it in migration.operations
        if isinstance(it, AddField | AlterField) and (it.field.unique or it.field.db_index)
    }

    advice = "give the column no index, and add that by AddIndexOnline (audit/online.py)"
    compare({"client.url", "consultant.account", "grant.client", "user.account"}, found, advice)


@pytest.fixture
def service(new_service):
    """Before the migration that makes an index."""
    service = new_service()
    service.run("-c", MIGRATE_TO, "mail.0003_mail_of_link")
    return service


@contextmanager
def index_being_made(service):
    """The migration, which waits for a transaction that ends with the block."""
    with psycopg.connect(service.environment["DATABASE_URL"]) as slow:
        slow.execute(WRITE)
        builder = service.spawn("-c", MIGRATE_TO, "mail.0004_mail_of_address")
        wait_until(lambda: service.query(BUILDING) == [(1,)])
        yield builder


def test_migration_broken_off_in_an_index_runs_again(service):
    with index_being_made(service) as builder:
        service.query(BREAK_OFF)
        assert builder.wait(60) == 1
    assert service.query(VALID) == [(False,)]

    service.run("-c", MIGRATE_TO, "mail.0004_mail_of_address")

    assert service.query(VALID) == [(True,)]


def test_calls_write_while_an_index_is_made(service):
    with index_being_made(service) as builder:
        service.query(f"SET lock_timeout = '2s'; {WRITE}")

    assert builder.wait(60) == 0
