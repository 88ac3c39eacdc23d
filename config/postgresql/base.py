"""Django's PostgreSQL backend, for a server that may vanish or hang under a running service."""

import select
from types import SimpleNamespace
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.errors import _WaitTimeout


class Connection(psycopg.Connection[Any]):
    """A connection that gives up on a server that does not answer.

    `patience` is in seconds. The web server sets it (config.wsgi), since a request must be told
    within three seconds that the database is away; commands and migrations wait for ever.
    """

    patience: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if timeout is None:
            timeout = self.patience
        try:
            return super().wait(gen, interval, timeout)
        except _WaitTimeout:
            self.close()  # an answer that comes late would be taken for the next one's
            raise psycopg.OperationalError("the server does not answer") from None


class DatabaseWrapper(base.DatabaseWrapper):
    """Looks at the socket, not at the server, to see whether a kept connection is still good.

    Django's own check sends `SELECT 1` before a request's first query. Between two requests an
    idle connection has nothing to say; when its socket is readable, the server has hung up (or is
    about to: it sends a last word first), and a new connection is made before anybody notices.
    """

    Database = SimpleNamespace(**vars(psycopg) | {"connect": Connection.connect})

    def is_usable(self) -> bool:
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return not poll.poll(0)
