"""Django's PostgreSQL backend, for servers that restart and fail over under a running service."""

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a pooled connection before use without the round trip of Django's `SELECT 1`."""

    def is_usable(self) -> bool:
        return self.connection is not None and is_good(self.connection)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        pool = self.pool  # type: ignore[attr-defined]
        for _ in range(10):  # one more than the pool has connections
            connection = super().get_new_connection(conn_params)
            if not pool or is_good(connection):
                return connection
            pool.putconn(connection)  # which replaces closed ones
        raise OperationalError("no server that can be written to")


def is_good(connection: Connection) -> bool:
    """Whether the server is connected and writable; closes the connection if not.

    An idle connection is readable only if the server has closed it. Servers announce when they
    become read-only (from PostgreSQL 14 on).
    """
    state = connection.info.parameter_status
    read_only = "on" in (state("in_hot_standby"), state("default_transaction_read_only"))
    if connection.closed or read_only or select.select([connection], [], [], 0)[0]:
        connection.close()
    return not connection.closed
