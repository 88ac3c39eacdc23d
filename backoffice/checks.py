"""System checks of the back office, for production (`manage.py check --deploy`)."""

from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import Error

from backoffice.rights import compare


@register(Tags.database, deploy=True)
def role_has_its_rights(app_configs: object, **options: object) -> list[CheckMessage]:
    """A database that is away is no matter of its settings: `manage.py status` tells of that."""
    try:
        lacking, excess = compare()
    except Error:
        return []
    hint = "Run deploy/rights.sql as the owner of the tables, and have DATABASE_URL name the role."
    found = {"backoffice.W001": lacking, "backoffice.W002": excess}
    return [CheckWarning(f"{words}.", hint=hint, id=key) for key, words in found.items() if words]
