"""The audit log in PostgreSQL's hands: who may write what, and who becomes nobody else."""

import contextlib
import re
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests.conftest import query

# A table of the caller's own in the place of the log, whose trigger tells as whom it runs.
SHADOW = """
CREATE TEMPORARY TABLE audit_record (
    id bigint, kind text, at timestamptz, actor_id uuid, actor_email text, subject text,
    account_id uuid, address text, agent text, request_id text, shell_user text, detail jsonb
);
CREATE TEMPORARY TABLE ran_as (name text);
GRANT ALL ON audit_record, ran_as TO PUBLIC;
CREATE FUNCTION pg_temp.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pg_temp.ran_as VALUES (current_user);
    RETURN NEW;
END
$$;
CREATE TRIGGER tell BEFORE UPDATE ON audit_record FOR EACH ROW EXECUTE FUNCTION pg_temp.tell();
INSERT INTO audit_record (id, subject, detail) VALUES (1, 'zeb', '{}');
"""
CALL = """
SELECT audit_pseudonymise(
    gen_random_uuid(), gen_random_uuid(), 'erased-0123456789abcdef', '{zeb}', NULL, '{}')
"""


@pytest.mark.parametrize("statement", ["TRUNCATE audit_record", "TRUNCATE audit_record CASCADE"])
def test_owner_cannot_truncate_the_trail(new_database, statement):
    url = new_database()

    with pytest.raises(InsufficientPrivilege, match="append-only"):
        query(url, statement)


def as_role(url, role):
    """The database's address for a role that may log in, and has been granted nothing."""
    with contextlib.suppress(psycopg.errors.DuplicateObject):
        query(url, f"CREATE ROLE {role} LOGIN")
    return re.sub(r"//[^@/]*@?", f"//{role}@", url)


@pytest.fixture(params=["stranger", "consulting_service"])
def role(request, new_database):
    """A connection as a role with no rights, and as the service's."""
    owner = new_database()
    url = as_role(owner, request.param)
    if request.param == "consulting_service":
        rights = Path("deploy/rights.sql").read_text("utf-8")
        query(owner, rights.replace("ROLE consulting IN", "ROLE postgres IN"))
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def test_nobody_runs_a_trigger_of_their_own_as_the_owner(role):
    role.execute(SHADOW)
    with contextlib.suppress(psycopg.Error):
        role.execute(CALL)

    others = role.execute("SELECT name FROM pg_temp.ran_as WHERE name <> current_user")
    assert others.fetchall() == []
