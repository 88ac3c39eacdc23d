"""System checks of the back office, for production (`manage.py check --deploy`)."""

from django.conf import settings
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
    """Tries an UPDATE of no row, which takes the right to change every row."""
    if connection.vendor != "postgresql":
        return []
    try:
        with transaction.atomic():
            Record.objects.filter(pk=0).update(kind="")
    except Error:  # refused, as it should be; or the database is away, as `status` says
        return []
    return [CAN_REWRITE]


@register(Tags.database, deploy=True)
def connections_suffice(app_configs: object, **options: object) -> list[CheckMessage]:
    """Compares what all processes and a mail worker may take with what the server gives the role,
    less three for operators. A process of requests takes as many as its pool holds."""
    if connection.vendor != "postgresql":
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT least(current_setting('max_connections')::int"
                " - current_setting('superuser_reserved_connections')::int,"
                " nullif(rolconnlimit, -1), nullif(datconnlimit, -1))"
                " FROM pg_roles, pg_database"
                " WHERE rolname = current_user AND datname = current_database()"
            )
            most = cursor.fetchone()[0]
    except Error:
        return []
    processes = settings.LIMITER_PROCESSES or settings.WEB_CONCURRENCY
    needed = processes * settings.POOL["max_size"] + 4
    if needed <= most:
        return []
    return [
        CheckWarning(
            f"The service may take {needed} connections, and PostgreSQL allows the role {most}.",
            hint="Raise max_connections or the limit of the role or database, or put a pooler "
            "in between.",
            id="backoffice.W003",
        )
    ]
