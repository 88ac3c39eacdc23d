"""Statements that a connection has planned, when a migration changes what they return."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from accounts.models import Account

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def migrated() -> Iterator[Any]:
    """Have the list of companies planned; calling it changes the length of their names."""
    Account.objects.create(name="Analytical Engines")
    for _ in range(7):
        names()
    assert plans()

    def migrate(length: int = 201) -> None:
        with closing(connection.copy()) as other, other.cursor() as cursor:
            cursor.execute(f"ALTER TABLE accounts_account ALTER COLUMN name TYPE varchar({length})")

    yield migrate
    migrate(200)
    connection.close()


def names() -> list[str]:
    return [account.name for account in Account.objects.all()]


def plans() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [text for (text,) in cursor.fetchall() if "accounts_account" in text]


def test_query_goes_on_without_its_plan(migrated: Any) -> None:
    migrated()

    assert names() == ["Analytical Engines"]
    assert names() == ["Analytical Engines"]


def test_transaction_is_lost_but_not_the_connection(migrated: Any) -> None:
    migrated()

    with pytest.raises(OperationalError), transaction.atomic():
        names()
    assert names() == ["Analytical Engines"]


@pytest.mark.parametrize(
    ("query", "threshold"), [("", "5"), ("?disable_server_side_cursors=true", "None")]
)
def test_pooled_connections_hold_no_plans(query: str, threshold: str) -> None:
    url = f"postgres://u:p@127.0.0.1/x{query}"
    code = "from config.settings import DATABASES; print(DATABASES['default']['OPTIONS'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"'prepare_threshold': {threshold}," in done.stdout.replace("}", ",")
