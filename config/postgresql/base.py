"""Django's PostgreSQL backend, for servers that restart and fail over under a running service."""

import select
from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Checks a pooled connection before use without the round trip of Django's `SELECT 1`."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self.connection = super().get_new_connection(conn_params)
        pool = self.pool  # type: ignore[attr-defined]
        if pool and not self.is_usable():
            pool.drain()  # its other connections are as old
            self.close()
            self.connection = super().get_new_connection(conn_params)
        return self.connection

    def is_usable(self) -> bool:
        """Whether the server is connected and writable, as far as it has said: an idle connection
        is readable if the server has closed it, or become read-only (from PostgreSQL 14 on)."""
        if self.connection.closed:
            return False
        readable = select.poll()  # select.select fails for descriptors above 1,023
        readable.register(self.connection, select.POLLIN)
        if readable.poll(0):
            return False
        state = self.connection.info.parameter_status
        return "on" not in (state("in_hot_standby"), state("default_transaction_read_only"))
