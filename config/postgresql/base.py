"""Django's PostgreSQL backend, for servers that restart or fail over while the service runs."""

import select
from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a pooled connection before its use without the round trip of Django's `SELECT 1`."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection, from the pool if there is one. If that one is not usable, all connections
        of the pool are replaced."""
        self.connection = super().get_new_connection(conn_params)
        pool = self.pool  # type: ignore[attr-defined]
        if pool and not self.is_usable():
            pool.drain()  # its other connections have probably ended as well
            self.close()
            self.connection = super().get_new_connection(conn_params)
        return self.connection

    def is_usable(self) -> bool:
        """Whether the connection is open, and its server was writable when it last said so (from
        PostgreSQL 14 on), without asking the server. `self.connection` is idle: it is readable if
        the server has closed it, or has sent something else than an answer."""
        if self.connection.closed:
            return False
        readable = select.poll()  # select.select fails for descriptors above 1,023
        readable.register(self.connection, select.POLLIN)
        if readable.poll(0):
            return False
        state = self.connection.info.parameter_status
        return "on" not in (state("in_hot_standby"), state("default_transaction_read_only"))
