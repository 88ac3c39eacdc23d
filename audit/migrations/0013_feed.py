"""Indexes of the feed: of all events, and of a company's. See migration 0012."""

from django.db import migrations

INDEXES = {"audit_feed": "xact, id", "audit_feed_of_company": "account_id, xact, id"}


def add(apps, editor):
    """Without blocking writes. An interrupted migration can be run again."""
    if editor.connection.vendor == "postgresql":
        for name, columns in INDEXES.items():
            editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON audit_record ({columns})")


def remove(apps, editor):
    if editor.connection.vendor == "postgresql":
        for name in INDEXES:
            editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("audit", "0012_xact")]
    operations = [migrations.RunPython(add, remove)]
