"""Django's PostgreSQL backend, for a server that may vanish, hang or fail over under a running
service."""

import select
import time
from types import SimpleNamespace
from typing import Any

import psycopg
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, InternalError, OperationalError, connections
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from config.postgresql.breaker import breaker
from config.postgresql.validation import Validation

SLOW = 0.1  # seconds; what is quicker, and be it a thousand queries, is no outage
LEAST = 0.1  # seconds that a query is given when the request's patience is at its end
CANCEL_SECONDS = 0.5  # how long to wait for a server to take a query back
# A query that could not be cancelled, and a transaction that its thread forgot, end by these.
TIMEOUTS = "SET statement_timeout = '3s'; SET idle_in_transaction_session_timeout = '10s'"


class Connection(psycopg.Connection[Any]):
    """A connection that gives up on a server that does not answer.

    `patience` is in seconds, for all slow queries of a request together: one may wait in a pooler's
    queue, and the next one behind a lock. The web server sets it (config.wsgi), since a request
    must be told within three seconds that the database is away; commands and migrations wait for
    ever, and neither open the breaker nor ask it.
    """

    patience: float | None = None
    waited = 0.0  # seconds of it that the request at hand has used up
    openings = 0  # of the breaker, when this connection was made

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if self.patience is None or self.closed:  # and what it fails of has been told before
            return super().wait(gen, interval, timeout)
        begin = time.monotonic()
        left = max(LEAST, self.patience - self.waited)
        try:
            return super().wait(gen, interval, left if timeout is None else timeout)
        except (psycopg.errors.DiskFull, psycopg.errors.IoError):
            breaker.write_failed()
            raise
        except psycopg.OperationalError as error:
            if self.info.transaction_status == TransactionStatus.ACTIVE:
                raise self.give_up() from None
            breaker.failed(error, database_answers, is_lost=False)
            raise
        finally:
            seconds = time.monotonic() - begin
            self.waited += seconds if seconds > SLOW else 0

    def give_up(self) -> psycopg.OperationalError:
        """Take the running query back and close, since an answer that comes late would be taken
        for the next query's. Only to close would leave the server's process waiting for its lock.
        """
        try:
            self.cancel_safe(timeout=CANCEL_SECONDS)
        except psycopg.Error:
            is_lost, words = True, f"no answer within {self.patience:g} s"
            DatabaseWrapper.silent = self.info.host, str(self.info.port)
        else:
            is_lost, words = False, f"query cancelled after {self.patience:g} s"
        self.close()
        error = psycopg.OperationalError(words)
        breaker.failed(error, database_answers, is_lost=is_lost)
        return error


class DatabaseWrapper(base.DatabaseWrapper):
    """Keeps to a server that answers and can be written to.

    `answered_last` and `silent` are the (host, port) that took the newest connection, and the one
    that last left a query without an answer; all threads share them.
    """

    Database = SimpleNamespace(**vars(psycopg) | {"connect": Connection.connect})
    validation_class = Validation
    answered_last: tuple[str, str] | None = None
    silent: tuple[str, str] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute_wrappers.append(leave_read_only)

    def is_usable(self) -> bool:
        """Whether a kept connection is still good: by its socket, without asking the server.

        Django's own check sends `SELECT 1` before a request's first query. Between two requests an
        idle connection has nothing to say; when its socket is readable, the server has hung up, or
        is about to. What is older than an outage is not used again: it may lead to a server that
        hangs still, or to one that is not the primary any more. The request's patience begins here.
        """
        if self.connection is None or self.connection.closed:
            return False
        if self.connection.openings != breaker.openings:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        self.connection.waited = 0.0
        return poll.poll(0) == []

    def get_connection_params(self) -> dict[str, object]:
        """Of several hosts the one that answered last comes first, a silent one last: a dead
        machine would cost each new connection its whole timeout."""
        params: dict[str, object] = super().get_connection_params()
        hosts = str(params.get("host", "")).split(",")
        if len(hosts) > 1:
            ports = str(params.get("port", "5432")).split(",")
            pairs = zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=True)
            ordered = sorted(
                pairs, key=lambda pair: (pair == self.silent, pair != self.answered_last)
            )
            params["host"], params["port"] = map(",".join, zip(*ordered, strict=True))
        return params

    def get_new_connection(self, conn_params: dict[str, object]) -> Any:
        openings = breaker.openings
        try:
            connection = super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            if Connection.patience is not None:
                breaker.failed(error, database_answers, is_lost=True)
            raise
        connection.openings = openings
        DatabaseWrapper.answered_last = connection.info.host, str(connection.info.port)
        return connection

    def init_connection_state(self) -> None:
        """The web server's connections get timeouts of the server's own, but for those that a
        pooler lends by the transaction: what one sets there, the next finds."""
        super().init_connection_state()
        if Connection.patience and not self.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
            self.connection.execute(TIMEOUTS)

    def connect(self) -> None:
        if breaker.is_open:
            self.refuse()
        super().connect()

    def cursor(self) -> Any:
        if breaker.is_open:
            self.refuse()
        return super().cursor()

    def refuse(self) -> None:
        """Raise OperationalError, but let a transaction go on to its end that has begun already."""
        if not self.is_in_transaction():
            breaker.refuse()
            raise OperationalError("the database is lost")

    def is_in_transaction(self) -> bool:
        """Whether the server knows of a transaction, which `in_atomic_block` does not tell."""
        if self.connection is None or self.connection.closed:
            return False
        return bool(self.connection.info.transaction_status != TransactionStatus.IDLE)


def leave_read_only(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    """One of Django's wrappers around queries: a server that has become read-only is away, and
    another one may be the primary, which the next connection finds."""
    try:
        return execute(sql, params, many, context)
    except InternalError as error:
        if not isinstance(error.__cause__, psycopg.errors.ReadOnlySqlTransaction):
            raise
        context["connection"].connection.close()
        raise OperationalError(str(error)) from error


def database_answers() -> bool:
    """Whether a new connection is let at every table, so that a locked one shows, too."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    tables = (model._meta.db_table for model in apps.get_models())
    statement = " UNION ALL ".join(f'SELECT FROM "{table}" WHERE false' for table in tables)
    try:
        with wrapper.get_new_connection(wrapper.get_connection_params()) as connection:
            connection.execute(statement)
    except psycopg.OperationalError:
        return False
    except psycopg.Error:  # not migrated, for one: that is an answer, too
        return True
    return True
