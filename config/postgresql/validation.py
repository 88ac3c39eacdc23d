"""What `migrate`, and `check --database default`, have to say about the database."""

from contextlib import closing

from django.core import checks
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.validation import BaseDatabaseValidation


class Validation(BaseDatabaseValidation):
    """Speaks up about a pooler in transaction mode that DATABASE_URL does not tell of."""

    def check(self, **options: object) -> list[checks.CheckMessage]:
        messages = super().check(**options)
        declared = self.connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]
        if not declared and lends_by_transaction(self.connection):
            messages.append(
                checks.Warning(
                    "DATABASE_URL leads to a pooler in transaction mode.",
                    hint="Add ?disable_server_side_cursors=true to it: cursors on the server, and "
                    "the timeouts of requests, would end up with other connections.",
                    id="config.W001",
                )
            )
        return messages


def lends_by_transaction(connection: BaseDatabaseWrapper) -> bool:
    """Whether one process of the server answers on two connections that are both open."""
    with closing(connection.copy()) as first, closing(connection.copy()) as second:
        return server_process(first) == server_process(second)


def server_process(connection: BaseDatabaseWrapper) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
