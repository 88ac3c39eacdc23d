"""The worker that empties the outbox: decides on what was requested, and sends what is due."""

import contextlib
import fcntl
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.mail import get_connection
from django.db import DatabaseError, close_old_connections, connection, transaction

from mail.outbox import PROBLEMS, OutgoingMail, State, failure_summary, pause
from mail.systemd import notify

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def one_sender() -> Iterator[None]:
    """Where rows cannot be locked (SQLite), one worker of the machine sends at a time.

    The lock is the kernel's: it ends with the process, however that ends.
    """
    if connection.features.has_select_for_update_skip_locked:
        yield
        return
    with Path(f"{connection.settings_dict['NAME']}.sendmail.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def decide_next(by: datetime | None = None) -> bool:
    """Decide on the request due longest of those that no other worker has in hand, if any."""
    with transaction.atomic():
        requests = OutgoingMail.objects.due(State.REQUESTED, by)
        mail = requests.select_for_update(skip_locked=True).first()
        if mail is not None:
            mail.decide()
    return mail is not None


def send_next(server: Any, by: datetime | None = None) -> bool:
    """Send the mail that has been due longest; False when none is, or the server is in trouble.

    The row is locked for as long as the mail server takes, so that a worker that is killed lets go
    of it at once. Nobody waits for that lock: everybody who changes a waiting mail skips locked
    ones. On SQLite, which locks no rows, a transaction would keep all others from writing, so
    `one_sender` stands in.
    """
    lockable = connection.features.has_select_for_update_skip_locked
    with transaction.atomic() if lockable else contextlib.nullcontext():
        due = OutgoingMail.objects.due(State.READY, by)
        mail = due.select_for_update(skip_locked=True).first()
        return mail is not None and mail.send(server)


class Worker:
    """Empties the outbox until it is told to stop, and does `hourly` once an hour beside it."""

    POLL_SECONDS = 0.5
    HOUR = 3600

    def __init__(self, hourly: Callable[[], object] | None = None) -> None:
        self.hourly = hourly  # what else to do once an hour
        self.stopping = threading.Event()
        self.refusals = 0  # of the mail server, one after another
        self.next_hour = time.monotonic()

    def stop(self, *_: Any) -> None:
        """End after the mail in hand; usable as a signal handler."""
        self.stopping.set()

    def goes_on(self) -> bool:
        """Whether to take up the next thing. It tells systemd that we are alive: a worker that
        hangs in one thing for longer than the unit's WatchdogSec is killed, and started again."""
        notify("WATCHDOG=1")
        return not self.stopping.is_set()

    def run(self) -> None:
        """Work until stopped; a database that is away is waited for."""
        logger.info("mail worker started")
        notify("READY=1")
        while self.goes_on():
            seconds = self.POLL_SECONDS
            try:
                close_old_connections()
                if not self.round():
                    seconds = min(pause(self.refusals).total_seconds(), 60)
                self.do_hourly()
            except DatabaseError as error:
                logger.error("mail worker: the database failed (%s)", type(error).__name__)
                connection.close()
            self.stopping.wait(seconds)
        logger.info("mail worker stopped")

    def round(self, by: datetime | None = None) -> bool:
        """Decide on what was requested and send what is due; False if the server refused us.

        Goes on for as long as more comes in, but for what falls due after `by`.
        """
        while self.goes_on() and decide_next(by):
            pass
        with one_sender():
            if not OutgoingMail.objects.due(State.READY, by).exists():
                return True
            return self.send_due(by)

    def send_due(self, by: datetime | None) -> bool:
        server = get_connection()
        try:
            server.open()
        except PROBLEMS as error:
            self.refusals += 1
            logger.warning(
                "mail server not reached (%s), try %d", failure_summary(error), self.refusals
            )
            return False
        self.refusals = 0
        try:
            while self.goes_on() and send_next(server, by):
                pass
        finally:
            with contextlib.suppress(*PROBLEMS):
                server.close()
        return True

    def do_hourly(self) -> None:
        if self.hourly is not None and time.monotonic() >= self.next_hour:
            self.next_hour = time.monotonic() + self.HOUR
            self.hourly()
