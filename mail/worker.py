"""The worker that empties the outbox: decides on what was requested, and sends what is due."""

import contextlib
import fcntl
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import DatabaseError, close_old_connections, connection, transaction

from mail.outbox import PROBLEMS, WAITING, OutgoingMail, State, failure_summary, pause
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


BATCH = 20  # mails


def take_next(state: State, server: BaseEmailBackend, by: datetime | None = None) -> bool:
    """Take on the mail due longest of those in this state that no other worker has in hand; False
    when there is none, or the server is in trouble. Its PROBLEMS when it cannot be reached.

    The row is locked for as long as the mail server takes, so that a worker that is killed lets go
    of it at once. Nobody waits for that lock: everybody who changes a waiting mail skips locked
    ones. On SQLite, which locks no rows, a transaction would keep all others from writing, so
    `one_sender` stands in.
    """
    lockable = connection.features.has_select_for_update_skip_locked
    with transaction.atomic() if lockable else contextlib.nullcontext():
        due = OutgoingMail.objects.due(by).filter(state=state)
        mail = due.select_for_update(skip_locked=True).first()
        if mail is not None and state == State.READY:
            server.open()
        return mail is not None and mail.take_on(server)


class Worker:
    """Empties the outbox until it is told to stop, and does `hourly` once an hour beside it."""

    POLL_SECONDS = 0.5
    HOUR = 3600

    def __init__(self, hourly: Callable[[], object] | None = None) -> None:
        self.hourly = hourly  # what else to do once an hour
        self.stopping = threading.Event()
        self.refusals = 0  # of the mail server, one after another
        self.next_hour = time.monotonic()

    def stop(self, *_: object) -> None:
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
            close_old_connections()
            reached = self.survive(self.round)
            self.survive(self.do_hourly)
            patience = self.POLL_SECONDS if reached else pause(self.refusals).total_seconds()
            self.stopping.wait(min(patience, 60))
        logger.info("mail worker stopped")

    def survive(self, work: Callable[[], bool | None]) -> bool:
        """Whether the work was done, or has failed by no fault of the mail server."""
        try:
            return work() is not False
        except DatabaseError as error:
            logger.error("mail worker: the database failed (%s)", type(error).__name__)
        except Exception:
            logger.exception("mail worker: it goes on")
        connection.close()
        return True

    def round(self, by: datetime | None = None) -> bool:
        """Decide on what was requested and send what is due, by turns, so that neither waits for
        the end of the other; False if the mail server could not be reached.

        Goes on for as long as more comes in, but for what falls due after `by`.
        """
        server = get_connection()
        try:
            with one_sender():
                while any([self.batch(state, server, by) for state in WAITING]):  # noqa: C419
                    pass
        except PROBLEMS as error:
            self.refusals += 1
            problem = failure_summary(error)
            logger.warning("mail server not reached (%s), try %d", problem, self.refusals)
            return False
        finally:
            with contextlib.suppress(*PROBLEMS):
                server.close()
        self.refusals = 0
        return True

    def batch(self, state: State, server: BaseEmailBackend, by: datetime | None) -> bool:
        """Take on up to BATCH mails in this state, those due longest; whether there was one."""
        taken = 0
        while taken < BATCH and self.goes_on() and take_next(state, server, by):
            taken += 1
        return taken > 0

    def do_hourly(self) -> None:
        if self.hourly is not None and time.monotonic() >= self.next_hour:
            self.next_hour = time.monotonic() + self.HOUR
            self.hourly()
