"""The trail in PostgreSQL's hands: not even the owner empties it."""

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.conftest import query


@pytest.mark.parametrize("statement", ["TRUNCATE audit_record", "TRUNCATE audit_record CASCADE"])
def test_owner_cannot_truncate_the_trail(new_database, statement):
    url = new_database()

    with pytest.raises(InsufficientPrivilege, match="append-only"):
        query(url, statement)
