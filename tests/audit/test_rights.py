"""What each role of PostgreSQL may change in the audit log."""

import uuid

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.audit.helpers import as_role, as_service
from tests.services import query

EVENT = """
INSERT INTO audit_record (kind, at, actor_id, actor_email, subject, address, agent, detail)
VALUES ('x', now(), %s, %s, %s, '', '', '{}')
"""
GONE, THERE, ALIAS = (uuid.UUID(int=number) for number in (1, 2, 3))
ERASED = "UPDATE audit_record SET actor_id = %s, actor_email = 'erased-0123456789abcdef'"


@pytest.mark.parametrize("statement", ["TRUNCATE audit_record", "TRUNCATE audit_record CASCADE"])
def test_owner_cannot_truncate_the_audit_log(new_database, statement):
    with pytest.raises(InsufficientPrivilege, match="append-only"):
        query(new_database(), statement)


@pytest.fixture
def owner(new_database):
    """The owner's URL of a database with an event of a user, and one of an erased user."""
    url = new_database()
    query(url, "INSERT INTO accounts_account (id, name, created_at) VALUES (%s, 'A', now())", THERE)
    columns = "id, account_id, email, first_name, last_name, role, language, password, is_active"
    query(
        url,
        f"INSERT INTO accounts_user ({columns}, is_staff, is_superuser, token_version, created_at)"
        " VALUES (%s, %s, 'there@example.com', '', '', 'member', 'en', '', true, false, false, 1,"
        " now())",
        THERE,
        THERE,
    )
    query(url, EVENT, THERE, "there@example.com", "there@example.com")
    query(url, EVENT, GONE, "gone@example.com", "gone@example.com")
    return url


@pytest.fixture
def service(owner):
    return as_service(owner)


def test_no_function_runs_with_the_rights_of_its_owner(owner):
    assert query(owner, "SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace <> 11") == []


def test_database_role_without_rights_reads_and_writes_nothing(owner):
    stranger = as_role(owner, "stranger")

    for statement in (ERASED % "NULL", "SELECT * FROM accounts_user", "DELETE FROM audit_record"):
        with pytest.raises(InsufficientPrivilege):
            query(stranger, statement)


def test_service_and_owner_can_pseudonymise_erased_users(owner, service):
    query(service, f"{ERASED} WHERE actor_id = %s", ALIAS, GONE)

    names = query(owner, "SELECT actor_email FROM audit_record ORDER BY id")
    assert names == [("there@example.com",), ("erased-0123456789abcdef",)]
    query(owner, "UPDATE audit_record SET subject_id = actor_id, subject = actor_email"
                 " WHERE subject = 'gone@example.com'")  # fmt: skip


TAKEN = ERASED % f"'{ALIAS}'"
OF_GONE = f"WHERE actor_id = '{GONE}'"
REFUSED = [
    f"{TAKEN} WHERE actor_id = '{THERE}'",
    f"UPDATE audit_record SET actor_email = 'eve@example.org' {OF_GONE}",
    f"UPDATE audit_record SET subject = 'eve@example.org' {OF_GONE}",
    'UPDATE audit_record SET detail = \'{"role": "admin"}\'',
    f"UPDATE audit_record SET subject_id = '{ALIAS}', subject = 'erased-0123456789abcdef'"
    " WHERE subject = 'there@example.com'",
    f"UPDATE audit_record SET actor_id = '{THERE}' {OF_GONE}",
    "UPDATE audit_record SET actor_email = 'erased-0123456789abcdef', detail = '{\"x\": 1}' "
    f"{OF_GONE}",
    f"UPDATE audit_record SET kind = 'y' {OF_GONE}",
    f"UPDATE audit_record SET at = now() - interval '1 day' {OF_GONE}",
    "DELETE FROM audit_record",
    "SET audit.pruning = 'on'; DELETE FROM audit_record",
    # A table of the role's own, in which nobody is there.
    "CREATE TEMPORARY TABLE accounts_user (id uuid, email text);"
    f"{TAKEN} WHERE actor_id = '{THERE}'",
]


@pytest.mark.parametrize("role", ["owner", "service"])
@pytest.mark.parametrize("statement", REFUSED)
def test_audit_log_refuses_every_other_change(request, owner, service, role, statement):
    url = request.getfixturevalue(role)
    before = query(owner, "SELECT * FROM audit_record ORDER BY id")

    with pytest.raises(InsufficientPrivilege):
        query(url, statement)

    assert query(owner, "SELECT * FROM audit_record ORDER BY id") == before


def test_service_can_delete_old_audit_events(owner, service):
    query(owner, EVENT.replace("now()", "now() - interval '31 days'"), None, "", "old")
    delete = "SET audit.pruning = 'on'; DELETE FROM audit_record WHERE subject = 'old'"
    query(service, delete)

    assert query(owner, "SELECT count(*) FROM audit_record") == [(2,)]
