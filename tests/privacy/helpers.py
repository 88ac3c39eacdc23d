"""What several tests of privacy share."""

from django.db import connection

from tests.privacy.conftest import EMAIL, NAMES

FILL = """
INSERT INTO audit_record (kind, at, actor_id, actor_email, subject_id, subject, account_id,
    address, agent, detail)
SELECT CASE n %% 3 WHEN 0 THEN 'login.succeeded' ELSE 'login.failed' END, now(),
    CASE n %% 3 WHEN 0 THEN id WHEN 2 THEN gen_random_uuid() END,
    CASE n %% 3 WHEN 1 THEN '' ELSE email END,
    CASE n %% 3 WHEN 0 THEN id END, CASE n %% 3 WHEN 2 THEN n || email ELSE email END,
    CASE n %% 3 WHEN 0 THEN account_id END, '192.0.2.1', '', '{}'
FROM generate_series(1, %s) n, accounts_user WHERE email = %s
"""


def dump():
    """All that the database holds, as text."""
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        rows = []
        for table in tables:
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += [f"{table}: {row}" for row in cursor.fetchall()]
    return "\n".join(rows)


def found(zeb, text):
    needles = [EMAIL, *NAMES, str(zeb.pk), zeb.pk.hex]
    return [
        line for line in text.splitlines() for needle in needles if needle.lower() in line.lower()
    ]
