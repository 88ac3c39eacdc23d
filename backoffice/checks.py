"""The system check of the back office, for production (`manage.py check --deploy`)."""

from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import Error, connection, transaction

from audit.models import Record

CAN_REWRITE = CheckWarning(
    "The database role can change the audit log.",
    hint="Run deploy/rights.sql as the owner of the tables, and name the role in DATABASE_URL.",
    id="backoffice.W001",
)


@register(Tags.database, deploy=True)
def role_cannot_rewrite_audit_log(app_configs: object, **options: object) -> list[CheckMessage]:
    """Tries an UPDATE that matches no row: it needs the right to change them all."""
    if connection.vendor != "postgresql":
        return []
    try:
        with transaction.atomic():
            Record.objects.filter(pk=0).update(kind="")
    except Error:  # refused, as it should be; or unavailable, which `status` reports
        return []
    return [CAN_REWRITE]
