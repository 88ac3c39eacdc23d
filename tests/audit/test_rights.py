"""The trail in PostgreSQL's hands: TRUNCATE, and a role with no more rights than it needs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.conftest import Service, query

RIGHTS = re.search(
    r"```sql\n(.*?)```", Path("docs/production.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize("statement", ["TRUNCATE audit_record", "TRUNCATE audit_record CASCADE"])
def test_owner_cannot_truncate_the_trail(new_database: Callable[[], str], statement: str) -> None:
    url = new_database()

    with pytest.raises(InsufficientPrivilege, match="append-only"):
        query(url, statement)


def test_service_works_with_the_rights_of_the_guide(
    new_service: Callable[..., Service], new_database: Callable[[], str]
) -> None:
    owner = new_database()
    assert RIGHTS
    query(owner, RIGHTS[1])
    url = re.sub(r"//[^@/]*@?", "//consulting_service@", owner)
    service = new_service(DATABASE_URL=url)

    service.manage("createcompany", "Engines", "ada@example.com")
    service.manage("prune")
    assert query(url, "SELECT count(*) FROM audit_record") == [(2,)]
    refused = [
        "TRUNCATE audit_record",
        "UPDATE audit_record SET kind = 'x'",
        "ALTER TABLE audit_record DISABLE TRIGGER ALL",
        "DROP TRIGGER audit_record_guard ON audit_record",
    ]
    for statement in refused:
        with pytest.raises(InsufficientPrivilege):
            query(url, statement)
