"""A migration meets tables that have grown for years, and hosts that serve meanwhile."""

import time
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.db.migrations import AddField, AddIndex, AlterField, CreateModel, RemoveIndex
from django.db.migrations.loader import MigrationLoader

from audit.online import AddIndexOnline
from tests.conftest import query

BUILDING = "SELECT count(*) FROM pg_stat_activity WHERE query ~ '^CREATE INDEX CONCURRENTLY'"
BREAK_OFF = BUILDING.replace("count(*)", "pg_cancel_backend(pid)")
VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'mail_of_address'::regclass"
WRITE = "UPDATE mail_outgoingmail SET kind = kind"


def wait_for_index(url):
    """Until it is being made."""
    deadline = time.monotonic() + 60
    while query(url, BUILDING) != [(1,)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


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
        assert not migration.atomic
        assert all(isinstance(it, AddIndexOnline | RemoveIndex) for it in migration.operations)


def test_no_column_brings_an_index_of_its_own_to_a_table_that_is_there():
    """Such an index is made while others wait; of the clients' table it is of a day's rows, and of
    the others only the column's name in the back office is changed."""
    found = {
        f"{it.model_name_lower}.{it.name}"
        for migration in migrations()
        for it in migration.operations
        if isinstance(it, AddField | AlterField) and (it.field.unique or it.field.db_index)
    }

    assert found == {"client.url", "consultant.account", "grant.client", "user.account"}


def test_migration_broken_off_in_an_index_runs_again(new_service):
    service = new_service()
    url = service.environment["DATABASE_URL"]
    service.manage("migrate", "mail", "0003", "-v0")
    with psycopg.connect(url) as slow:
        slow.execute(WRITE)
        builder = service.spawn("manage.py", "migrate", "mail", "0004", "-v0")
        wait_for_index(url)
        query(url, BREAK_OFF)
        assert builder.wait(60) == 1
    assert query(url, VALID) == [(False,)]

    service.manage("migrate", "mail", "0004", "-v0")

    assert query(url, VALID) == [(True,)]


def test_calls_write_while_an_index_is_made(new_service):
    service = new_service()
    url = service.environment["DATABASE_URL"]
    service.manage("migrate", "mail", "0003", "-v0")
    with psycopg.connect(url) as slow:
        slow.execute(WRITE)  # and has not committed yet
        builder = service.spawn("manage.py", "migrate", "mail", "0004", "-v0")
        wait_for_index(url)
        with psycopg.connect(url, options="-c lock_timeout=2s") as other:
            other.execute(WRITE)

    assert builder.wait(60) == 0
