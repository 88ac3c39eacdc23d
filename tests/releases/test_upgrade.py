"""Databases of earlier releases end up as new ones do, or are refused."""

import contextlib
import subprocess
import uuid

import psycopg
import pytest

from tests import servers
from tests.releases.code import (
    HERE,
    RELEASE_2_1_0,
    RELEASE_2_2_0,
    RELEASE_3_1_0,
    UPGRADABLE,
    unpack,
)
from tests.services import query

pytestmark = pytest.mark.live

THROUGH_3_1 = [RELEASE_2_1_0, RELEASE_2_2_0]

SCHEMA = {
    "columns": """
SELECT table_name, column_name,
    row_number() OVER (PARTITION BY table_name ORDER BY ordinal_position),
    udt_name, character_maximum_length, is_nullable, column_default, identity_generation,
    collation_name
FROM information_schema.columns WHERE table_schema = 'public'
""",
    "constraints": """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), condeferred, convalidated
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
""",
    "indexes": """
SELECT relname, pg_get_indexdef(oid), indisvalid FROM pg_class JOIN pg_index ON indexrelid = oid
WHERE relnamespace = 'public'::regnamespace
""",
    "triggers": """
SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE NOT tgisinternal
""",
    "functions": """
SELECT pg_get_functiondef(oid), proacl::text FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
""",
    "grants": """
SELECT relname, attname, relacl::text, attacl::text FROM pg_class
LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attacl IS NOT NULL
WHERE relnamespace = 'public'::regnamespace
""",
}
APPLIED = "SELECT app, name FROM django_migrations ORDER BY id"
# So that the service's role may write to tables as soon as they are made (deploy/rights.sql).
DEFAULT_RIGHTS = """
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO consulting_service
"""


def read_schema(url):
    return {name: sorted(map(str, query(url, text))) for name, text in SCHEMA.items()}


@pytest.fixture
def empty_service(new_service):
    """Makes services with an empty database each."""
    names = []

    def make():
        names.append(f"t_{uuid.uuid4().hex[:12]}")
        servers.POSTGRES.execute(f"CREATE DATABASE {names[-1]}")
        url = servers.POSTGRES.url(names[-1])
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            query(url, "CREATE ROLE consulting_service LOGIN")
        query(url, DEFAULT_RIGHTS)
        return new_service(DATABASE_URL=url)

    yield make
    for name in names:
        servers.POSTGRES.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    "releases",
    [*([release] for release in UPGRADABLE), *([old, RELEASE_3_1_0] for old in THROUGH_3_1)],
    ids="-".join,
)
def test_database_of_a_release_becomes_as_a_new_one(empty_service, tmp_path, releases):
    new, old = empty_service(), empty_service()
    new.manage("migrate", "-v0")
    for release in releases:
        old.code = unpack(release, tmp_path / release)
        old.manage("migrate", "-v0")
    old.code = HERE
    old.manage("migrate", "-v0")

    new_schema = read_schema(new.environment["DATABASE_URL"])
    old_schema = read_schema(old.environment["DATABASE_URL"])
    for part, rows in new_schema.items():
        assert old_schema[part] == rows, part


@pytest.mark.parametrize("release", THROUGH_3_1)
def test_database_older_than_3_0_is_refused_unchanged(empty_service, tmp_path, release):
    service = empty_service()
    service.code = unpack(release, tmp_path / "code")
    service.manage("migrate", "-v0")
    service.code = HERE
    url = service.environment["DATABASE_URL"]
    before = read_schema(url), query(url, APPLIED)

    with pytest.raises(subprocess.CalledProcessError) as failed:
        service.manage("migrate", "-v0")

    assert "(accounts.E004) This database was not fully migrated to 3.0." in failed.value.stderr
    assert "HINT: Migrate it with release 3.1 first." in failed.value.stderr
    assert (read_schema(url), query(url, APPLIED)) == before
