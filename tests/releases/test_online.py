"""A migration meets tables that have grown for years, and hosts that serve meanwhile."""

import time
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.db.migrations import AddIndex, CreateModel
from django.db.migrations.loader import MigrationLoader

from audit.online import AddIndexOnline
from tests.conftest import query

BUILDING = "SELECT count(*) FROM pg_stat_activity WHERE query ~ '^CREATE INDEX CONCURRENTLY'"
WRITE = "UPDATE mail_outgoingmail SET kind = kind"


def migrations():
    """Those of ours after each app's first."""
    labels = {app.label for app in apps.get_app_configs() if Path(app.path).parent == Path.cwd()}
    found = MigrationLoader(None).disk_migrations.values()
    return [one for one in found if one.app_label in labels and one.dependencies]


@pytest.mark.parametrize("migration", migrations(), ids=str)
def test_index_of_a_table_that_is_there_is_made_online(migration):
    made = {it.name_lower for it in migration.operations if isinstance(it, CreateModel)}
    indexes = [it for it in migration.operations if isinstance(it, AddIndex)]
    late = [it for it in indexes if it.model_name_lower not in made]

    assert all(isinstance(index, AddIndexOnline) for index in late)
    assert not (late and migration.atomic)


def test_calls_write_while_an_index_is_made(new_service):
    service = new_service()
    url = service.environment["DATABASE_URL"]
    service.manage("migrate", "mail", "0003", "-v0")
    with psycopg.connect(url) as slow:
        slow.execute(WRITE)  # and has not committed yet
        builder = service.spawn("manage.py", "migrate", "mail", "0004", "-v0")
        deadline = time.monotonic() + 60
        while query(url, BUILDING) != [(1,)]:
            assert time.monotonic() < deadline
            time.sleep(0.05)

        with psycopg.connect(url, options="-c lock_timeout=2s") as other:
            other.execute(WRITE)

    assert builder.wait(60) == 0
