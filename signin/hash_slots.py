"""How many passwords are hashed at a time.

A hash takes a core and 19 MiB for 20 ms, so a crowd at the log-in would take every thread and core
from all other calls. A process makes as many hashes at a time as it has cores to itself, and lets
some callers wait; a quarter of its threads stays free for calls that hash nothing.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

from django.conf import settings
from django.db import connection

from metrics import series
from signin.errors import TooManyHashes

CORES = len(os.sched_getaffinity(0))
AT_A_TIME = max(1, CORES // settings.WEB_CONCURRENCY)
AT_MOST = max(AT_A_TIME, settings.WEB_THREADS * 3 // 4)  # hashing and waiting together
PATIENCE = 3.0  # seconds

admitted = threading.BoundedSemaphore(AT_MOST)
hashing = threading.BoundedSemaphore(AT_A_TIME)


@contextlib.contextmanager
def hash_slot() -> Iterator[None]:
    """Wait for a turn to hash a password, and keep it for the length of the block.

    Enter it once a call, outside transactions, before anything is looked up: what a lookup has
    found would be old after the wait, and every caller has to wait alike, whatever the address.
    The block also holds the queries that belong to the check, so that a slow database keeps no more
    connections busy than there are turns. A thread that has to wait gives its connection back.

    Raises TooManyHashes (503 with Retry-After) at once if too many callers wait already, or after
    PATIENCE.
    """
    if not admitted.acquire(blocking=False):
        raise TooManyHashes
    try:
        wait_for_turn()
        try:
            with series.hashing.labels("running").track_inprogress():
                yield
        finally:
            hashing.release()
    finally:
        admitted.release()


def wait_for_turn() -> None:
    if hashing.acquire(blocking=False):
        return
    if not connection.in_atomic_block:
        connection.close()
    with series.hashing.labels("waiting").track_inprogress():
        if not hashing.acquire(timeout=PATIENCE):
            raise TooManyHashes
