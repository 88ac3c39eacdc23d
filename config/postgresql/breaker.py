"""Keeps requests off a database that is lost, and finds out when it is back."""

import logging
import math
import os
import threading
import time
from collections.abc import Callable

from metrics import series

logger = logging.getLogger("database")

PAUSE = 0.5  # seconds between two looks at a lost database
DOUBT = 5.0  # seconds in which a second failure proves what the first made likely
FULL = 60.0  # seconds for which a failed write is remembered


class Breaker:
    """Open while the database is lost: whoever needs it is refused at once.

    Requests that tried it would each hold a thread until they give up, so none does: a thread of
    the breaker's own looks, at once and then every half second, and closes it again. One log line
    tells of the opening, in the driver's words, and one of the closing.

    `may_open` is false in a process that is about to fork: a thread that runs meanwhile may hold
    a lock that the children then wait for.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Close, without a word, and forget every failure."""
        self.lock = threading.Lock()
        self.may_open = True
        self.is_open = False
        self.openings = 0
        self.doubted_until = -math.inf
        self.refused = 0
        self.write_failed_at = -math.inf

    def write_failed(self) -> None:
        """The database has answered that it cannot write: its disk is full, or fails. It is not
        lost, since it reads on, and a write that finds room succeeds."""
        self.write_failed_at = time.monotonic()
        series.database_write_failures.inc()

    def writes(self) -> bool:
        """Whether the database writes, so far as this process has seen within a minute."""
        return time.monotonic() - self.write_failed_at > FULL

    def refuse(self) -> None:
        """Count a request that was refused; the closing line tells how many."""
        with self.lock:
            self.refused += 1

    def failed(self, error: Exception, answers: Callable[[], bool], *, is_lost: bool) -> None:
        """The database has failed a caller; `answers` looks whether it does so for others.

        One failure of a server that is there may be that one query's or connection's: it takes
        two to open, unless the server is certainly lost.
        """
        now = time.monotonic()
        with self.lock:
            certain = is_lost or now < self.doubted_until
            self.doubted_until = now + DOUBT
            if self.is_open or not (certain and self.may_open):
                return
            self.is_open, self.openings, self.refused = True, self.openings + 1, 0
        series.database_failures.inc()
        series.database_lost.set(1)
        logger.error("the database is lost: %s", " ".join(str(error).split()))
        threading.Thread(target=self.watch, args=[answers, now], daemon=True).start()

    def watch(self, answers: Callable[[], bool], since: float) -> None:
        """Look until the database answers, then close."""
        try:
            while not answers():
                time.sleep(PAUSE)
        finally:  # what cannot look must not keep everybody out
            with self.lock:
                self.is_open, self.doubted_until = False, -math.inf
            series.database_lost.set(0)
        fields = {"seconds": round(time.monotonic() - since, 1), "refused": self.refused}
        logger.warning("the database answers again", extra={"fields": fields})


breaker = Breaker()

# A child process has none of its parent's threads, so nobody would close what it inherits open.
os.register_at_fork(after_in_child=breaker.reset)
