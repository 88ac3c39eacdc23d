"""System checks of the database and other servers (`manage.py check --deploy`).

Every `check --deploy` runs them, with or without `--database`: their tag has an effect only with
`--tag`. Without `--database`, `check_servers` asks no server. The other checks always ask the
database, and report nothing while it is unavailable.
"""

from contextlib import suppress

from django.conf import settings
from django.core import checks
from django.core.mail import get_connection
from django.db import Error, connection, transaction

from accounts.models import User
from audit.models import AuditEvent
from mail.smtp import MAIL_SERVER_ERRORS
from throttling.limiter import limiter


@checks.register(checks.Tags.database, deploy=True)
def check_audit_log(app_configs: object, **options: object) -> list[checks.CheckMessage]:
    """Warns if the database role could change the audit log: if an UPDATE of `kind` that matches no
    row is allowed, or if the role may create functions in `public`, since the tables' owner could
    be led to call one."""
    if connection.vendor != "postgresql":
        return []
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT has_schema_privilege('public', 'CREATE')")
            if cursor.fetchone() == (False,):
                AuditEvent.objects.filter(pk=0).update(kind="")
    except Error:  # refused, as it should be, or unavailable: `status` reports that
        return []
    hint = "Run deploy/rights.sql as the owner of the tables, and name the role in DATABASE_URL. "
    hint += "If PostgreSQL was 14 once: REVOKE CREATE ON SCHEMA public FROM PUBLIC."
    message = "The database role can change the audit log."
    return [checks.Warning(message, hint, id="backoffice.W001")]


@checks.register(checks.Tags.database, deploy=True)
def check_locale(app_configs: object, **options: object) -> list[checks.CheckMessage]:
    """Warns of a database locale in which case-insensitive searches miss letters beyond ASCII."""
    if connection.vendor == "postgresql":
        with suppress(Error), connection.cursor() as cursor:
            cursor.execute("SELECT upper('ä') = 'Ä' AND upper('i') = 'I'")
            if cursor.fetchone() != (True,):
                message = "Searches miss names: the database's locale knows not all letters."
                hint = "Restore a backup into a database of createdb --locale C.UTF-8."
                return [checks.Warning(message, hint, id="backoffice.W004")]
    return []


@checks.register(checks.Tags.database, deploy=True)
def check_servers(app_configs: object, **options: object) -> list[checks.CheckMessage]:
    """With `--database`, an error for each configured server (database, Redis, mail) that can't be
    reached, refuses the login or can't be used. Without `--database`, this check asks none."""
    errors: list[checks.CheckMessage] = []
    for name in ("DATABASE_URL", "REDIS_URL", "EMAIL_URL") if options.get("databases") else ():
        try:
            if name == "DATABASE_URL":
                User.objects.require_readable()
            elif name == "REDIS_URL" and limiter.redis_state() != "ok":
                raise OSError(limiter.outage_reason)
            elif name == "EMAIL_URL" and "smtp" in settings.EMAIL_BACKEND:
                with get_connection():
                    pass
        except (Error, *MAIL_SERVER_ERRORS) as error:
            message = f"The server of {name} does not accept the service: {error}".splitlines()[0]
            hint = f"Correct {name}, or the server."
            errors.append(checks.Error(message, hint, id="backoffice.E001"))
    return errors


@checks.register(checks.Tags.database, deploy=True)
def check_connection_limit(app_configs: object, **options: object) -> list[checks.CheckMessage]:
    """Warns if PostgreSQL allows the role fewer connections than the service may open."""
    if connection.vendor != "postgresql" or connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
        return []  # a transaction pooler has its own limit
    processes = settings.LIMITER_PROCESSES or settings.WEB_CONCURRENCY
    needed = processes * settings.POOL["max_size"] + 1  # one for the worker
    with suppress(Error), connection.cursor() as cursor:
        cursor.execute(
            "SELECT least(current_setting('max_connections')::int, nullif(rolconnlimit, -1))"
            " FROM pg_roles WHERE rolname = current_user"
        )
        if needed > (allowed := cursor.fetchone()[0]):
            message = f"The service may open {needed} connections, but PostgreSQL allows {allowed}."
            hint = "Raise max_connections or the role's limit, or lower WEB_CONCURRENCY."
            return [checks.Warning(message, hint, id="backoffice.W003")]
    return []
