"""What the database lets the service's role do, beside what deploy/rights.sql gives it."""

from collections import defaultdict

from django.db import connection

from audit.models import Record

NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE")
TRAIL = Record._meta.db_table
# The trail is added to, read and pruned: who may do more could rewrite it.
NOT_TO_THE_TRAIL = ("UPDATE", "TRUNCATE")
NAMED = 3  # tables in one line
Relation = tuple[str, bool, bool, list[str]]  # name, a sequence or not, ours or not, rights granted

# Of each table and sequence in the schemas of the search path, those that are closed to the role,
# too. A right to one column of the trail is one too many; a sequence is read by a backup.
HELD = """
SELECT relname, relkind = 'S', pg_has_role(relowner, 'MEMBER'), ARRAY(
    SELECT name FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) name
    WHERE has_schema_privilege(pg_namespace.oid, 'USAGE') AND (
        has_table_privilege(pg_class.oid, name)
        OR relname = %s AND name = 'UPDATE' AND has_any_column_privilege(pg_class.oid, name)
    )
)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p', 'S')
    AND nspname = ANY (regexp_split_to_array(current_setting('search_path'), '[", ]+'))
ORDER BY relname
"""


def compare() -> tuple[str, str]:
    """What the role lacks, and what it may do to the audit trail beyond adding to it: a line each,
    empty where there is nothing to say, as on any database but PostgreSQL.

    Raises django.db.Error where the database is away.
    """
    if connection.vendor != "postgresql":
        return "", ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        role = cursor.fetchone()[0]
        cursor.execute(HELD, [TRAIL])
        relations = cursor.fetchall()
    lacking, excess = lacks(relations), may(relations)
    return f"{role} lacks {lacking}" if lacking else "", f"{role} {excess}" if excess else ""


def lacks(relations: list[Relation]) -> str:
    """The rights that are missing, each with the first few tables and sequences."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, is_sequence, _, granted in relations:
        needed = NEEDED[:1] if is_sequence else NEEDED
        missing = [it for it in needed if it not in granted]
        if name == TRAIL:
            missing = [it for it in missing if it not in NOT_TO_THE_TRAIL]
        if missing:
            found[", ".join(missing)].append(name)
    return "; ".join(f"{rights} on {some(names)}" for rights, names in found.items())


def may(relations: list[Relation]) -> str:
    """What the role may do to the trail and should not; an owner can give itself any right."""
    for name, _, owns, granted in relations:
        more = [it for it in NOT_TO_THE_TRAIL if it in granted]
        if name == TRAIL and (owns or more):
            return f"owns {TRAIL}" if owns else f"may {' and '.join(more)} {TRAIL}"
    return ""


def some(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
