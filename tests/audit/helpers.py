"""What several tests of audit share."""

import contextlib
import re
from pathlib import Path

import psycopg

from tests.services import query


def as_role(owner, role):
    """The database's URL for a role that may log in and has no other right."""
    with contextlib.suppress(psycopg.errors.DuplicateObject):
        query(owner, f"CREATE ROLE {role} LOGIN")
    return re.sub(r"//[^@/]*@?", f"//{role}@", owner)


def as_service(owner):
    """The database's URL for the service's role, with the rights of deploy/rights.sql."""
    url = as_role(owner, "consulting_service")
    rights = Path("deploy/rights.sql").read_text("utf-8")
    query(owner, rights.replace("ROLE consulting IN", "ROLE postgres IN"))
    return url
