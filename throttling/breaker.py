"""Keeps requests off a store that has failed, so that its outage costs nobody any time."""

import logging
import threading
import time

from redis.exceptions import TimeoutError as StoreTimeout

from metrics import series

logger = logging.getLogger("throttling")


class Breaker:
    """Lets nobody through to a store that has failed, but one caller that probes now and then.

    It opens at an error, or at the second timeout in a row: a single one may be this machine's own
    hiccup. One log line tells of its opening and one of its closing.
    """

    FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0  # seconds between probes

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_open = False
        self.is_silent = False  # it opened for want of an answer, not at an error
        self.opened_at = 0.0
        self.failures = 0  # in a row
        self.pause = self.FIRST_PAUSE
        self.next_probe = 0.0

    def admits(self) -> bool:
        """Whether this caller may try the store.

        Taking a probe puts the next one off by longer than a probe lasts, so that only one
        caller probes at a time, and none has to report back for the next to go.
        """
        if not self.is_open:
            return True
        with self.lock:
            now = time.monotonic()
            if self.is_open and now < self.next_probe:
                return False
            self.pause = min(self.pause * 2, self.LONGEST_PAUSE)
            self.next_probe = now + self.pause
            return True

    def is_hiccup(self) -> bool:
        """Whether the store has been silent for less than a second, so far as is known."""
        if not self.is_open:
            return True
        return self.is_silent and time.monotonic() - self.opened_at < 1

    def succeeded(self) -> None:
        """The store has answered: close."""
        with self.lock:
            was_open, self.is_open, self.failures = self.is_open, False, 0
        series.store_lost.set(0)
        if was_open:
            logger.warning("the limiter's store answers again")

    def failed(self, error: Exception, *, surely: bool = False) -> None:
        """The store has not answered, or with an error. Open: `surely`, or as the class says."""
        with self.lock:
            self.failures += 1
            is_silent = isinstance(error, StoreTimeout)
            if self.is_open or (is_silent and self.failures < 2 and not surely):
                return
            self.is_open, self.is_silent = True, is_silent
            self.pause = self.FIRST_PAUSE
            self.opened_at = time.monotonic()
            self.next_probe = self.opened_at + self.pause
        series.store_lost.set(1)
        logger.warning(
            "the limiter's store is lost, credential calls are counted in process: %s: %s",
            type(error).__name__,
            error,
        )
