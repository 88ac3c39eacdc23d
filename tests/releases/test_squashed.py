"""Databases of earlier releases, and new ones, which get the squashed migrations instead."""

import contextlib
import subprocess
import uuid

import psycopg
import pytest

from tests import servers
from tests.releases.code import HERE, MIGRATE_TO, RELEASE_2_1_0, RELEASE_2_2_0, UPGRADABLE, unpack
from tests.services import query

pytestmark = pytest.mark.live

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
    "migrations": "SELECT app, name FROM django_migrations",
}
# So that the service's role may write to tables as soon as they are made (deploy/rights.sql).
DEFAULT_RIGHTS = """
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO consulting_service
"""
OLDER = {
    "1.0.0": "accounts.0001_initial assistants.0001_initial audit.0001_initial"
    " invitations.0001_initial keys.0001_initial mail.0001_initial passwords.0001_initial"
    " signin.0001_initial throttling.0001_initial",
    "2.0.0": "accounts.0006_order_of_names assistants.0004_names audit.0010_pruning"
    " emailchanges.0003_names invitations.0002_names keys.0003_withdrawn_keys"
    " mail.0006_delete_mailtally passwords.0001_initial privacy.0005_names"
    " signin.0006_device_network throttling.0004_refusal_recorded",
}


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


@pytest.mark.parametrize("release", [RELEASE_2_1_0, RELEASE_2_2_0, *UPGRADABLE])
def test_database_of_a_release_becomes_as_a_new_one(empty_service, tmp_path, release):
    new, old = empty_service(), empty_service()
    new.manage("migrate", "-v0")
    old.code = unpack(release, tmp_path / "code")
    old.manage("migrate", "-v0")
    old.code = HERE
    old.manage("migrate", "keys", "-v0")  # its squashed migration counts as applied from here on
    old.manage("migrate", "-v0")

    new_schema = read_schema(new.environment["DATABASE_URL"])
    old_schema = read_schema(old.environment["DATABASE_URL"])
    for part, rows in new_schema.items():
        assert old_schema[part] == rows, part


@pytest.mark.parametrize("release", OLDER)
def test_database_older_than_2_1_is_refused_unchanged(empty_service, release):
    service = empty_service()
    service.run("-c", MIGRATE_TO, *OLDER[release].split())
    url = service.environment["DATABASE_URL"]
    before = read_schema(url)

    with pytest.raises(subprocess.CalledProcessError) as failed:
        service.manage("migrate", "-v0")

    advice = "CommandError: This database is older than 2.1: migrate it with release 2.2 first.\n"
    assert failed.value.stderr.endswith(advice)
    assert read_schema(url) == before
