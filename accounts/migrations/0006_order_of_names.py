"""An index for GET /users, which sorts by SortKey. It is made while hosts serve. Not on SQLite, whose
own tools don't know the function.
"""

from django.db import migrations

KEY = r"LOWER(REGEXP_REPLACE(NORMALIZE(%s, NFKD), '[\u0300-\u036f]', '', 'g'))"


def add_index(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute("DROP INDEX CONCURRENTLY IF EXISTS user_by_name")  # of an interrupted run
        editor.execute(
            f"CREATE INDEX CONCURRENTLY user_by_name ON accounts_user (account_id,"
            f" {KEY % 'last_name'}, {KEY % 'first_name'}, id)",
            params=None,
        )


def drop_index(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute("DROP INDEX CONCURRENTLY IF EXISTS user_by_name")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0005_names")]
    operations = [migrations.RunPython(add_index, drop_index)]
