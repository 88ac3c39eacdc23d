"""Fills a PostgreSQL database with a large service's worth of rows, in minutes.

    DATABASE_URL=postgres://… .venv/bin/python -m benchmarks.fill 1000000

For a database that is thrown away afterwards: everybody has the same password.
"""

import os
import sys
import time
from typing import Any

# The row numbers make ids and addresses that can be guessed again: `u42@c7.example`.
STATEMENTS = [
    (
        "accounts_account",
        """
        INSERT INTO accounts_account (id, name, created_at)
        SELECT md5('account' || n)::uuid, 'Company ' || n, now()
        FROM generate_series(0, %(companies)s - 1) AS n
        """,
    ),
    (
        "accounts_user",
        """
        INSERT INTO accounts_user (id, account_id, email, first_name, last_name, password, role,
            language, is_active, is_staff, is_superuser, token_version, created_at)
        SELECT md5('user' || n)::uuid, md5('account' || n %% %(companies)s)::uuid,
            'u' || n || '@c' || n %% %(companies)s || '.example', 'First' || n, 'Last' || n,
            %(password)s, CASE WHEN n < %(companies)s THEN 'admin' ELSE 'member' END,
            'en', true, false, false, 1, now() - n * interval '1 second'
        FROM generate_series(0, %(users)s - 1) AS n
        """,
    ),
    (
        "accounts_consultant",
        """
        INSERT INTO accounts_consultant (id, account_id, name, user_id, manager_id)
        SELECT md5('consultant' || n)::uuid, md5('account' || n %% %(companies)s)::uuid,
            'Consultant ' || n, md5('user' || n)::uuid,
            md5('user' || n %% %(companies)s)::uuid
        FROM generate_series(0, %(users)s - 1, 2) AS n
        """,
    ),
    (
        "invitations_invitation",
        """
        INSERT INTO invitations_invitation (id, account_id, email, role, language, generation,
            created_at, expires_at)
        SELECT md5('invitation' || n)::uuid, md5('account' || n %% %(companies)s)::uuid,
            'i' || n || '@c' || n %% %(companies)s || '.example', 'member', 'en', 1, now(),
            now() + interval '7 days'
        FROM generate_series(0, %(users)s / 10 - 1) AS n
        """,
    ),
    (
        "audit_record",
        """
        INSERT INTO audit_record (kind, at, actor_id, actor_email, subject, account_id, address,
            agent, detail)
        SELECT 'login.succeeded', now() - n * interval '10 seconds', md5('user' || n)::uuid,
            'u' || n || '@c' || n %% %(companies)s || '.example',
            'u' || n || '@c' || n %% %(companies)s || '.example',
            md5('account' || n %% %(companies)s)::uuid, '198.51.100.1', 'curl/8', '{}'
        FROM generate_series(0, %(users)s - 1) AS n
        """,
    ),
]


def fill(users: int) -> None:
    """Add so many users, a hundred to a company; half of them are consultants. Where the tables
    exist, also a tenth as many open invitations and as many audit events."""
    from django.contrib.auth.hashers import make_password
    from django.db import connection

    values: dict[str, Any] = {"users": users, "companies": max(1, users // 100)}
    values["password"] = make_password("correct horse battery")
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for table, statement in STATEMENTS:
            if table in tables:
                begun = time.monotonic()
                cursor.execute(statement, values)
                seconds = time.monotonic() - begun
                print(f"{table}: {cursor.rowcount} rows in {seconds:.0f} s", file=sys.stderr)
    settle()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_size_pretty(pg_database_size(current_database()))")
        print(f"database: {cursor.fetchone()[0]}", file=sys.stderr)


def settle() -> None:
    """Let PostgreSQL finish what the rows have left it to do, so that nothing measured later is
    measured beside it."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE, FREEZE)")
        cursor.execute("CHECKPOINT")
        while True:
            cursor.execute("SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'")
            if cursor.fetchone() is None:
                return
            time.sleep(1)


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    fill(int(sys.argv[1]))
