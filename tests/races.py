"""Calls that run at the same moment, in threads of their own."""

import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connections, transaction

from tests import servers
from tests.servers import wait_until
from tests.services import query


def close_connections():
    """At the end of a test's thread: its database connections go with it."""
    connections.close_all()


def race(*calls):
    """What the calls return when each begins at the same moment in a thread of its own."""
    start = threading.Barrier(len(calls))

    def run(call):
        try:
            start.wait()
            return call()
        finally:
            close_connections()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def is_waited_for():
    """Whether a database connection waits for another one's lock."""
    return query(servers.POSTGRES.url(), "SELECT 1 FROM pg_locks WHERE NOT granted")


def call_before_commit(change, call):
    """What `call` returns or raises, made while the transaction of `change` is open, which commits
    as soon as the call waits for it. For tests marked `django_db(transaction=True)`."""

    def run():
        try:
            return call()
        finally:
            close_connections()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            change()
            result = thread.submit(run)
            wait_until(lambda: result.done() or is_waited_for())
        return result.result()
