"""The worker that empties the outbox: decides on what was requested, and sends what is due."""

import contextlib
import logging
import time
from collections.abc import Callable
from datetime import datetime

from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import DatabaseError, close_old_connections, connection

from mail.heartbeat import Heartbeat
from mail.outbox import PROBLEMS, OutgoingMail, failure_summary, pause
from mail.retention import prune, work_off

logger = logging.getLogger(__name__)


def process_next(server: BaseEmailBackend, by: datetime | None = None) -> bool:
    """Process the mail that has been due longest; False when there is none, or the mail server is
    in trouble. Raises its PROBLEMS when it cannot be reached.

    Several workers may run: a mail is leased before it is processed. No transaction and no row
    lock is held while the mail server takes its time.
    """
    due = OutgoingMail.objects.due(by)
    while (mail := due.first()) is not None:
        server.open()
        if mail.lease():
            return mail.process(server)
    return False


class Worker:
    """Empties the outbox until stopped, does other waiting work in batches, and prunes hourly."""

    POLL_SECONDS = 0.5

    def __init__(self) -> None:
        self.is_stopping = False
        self.refusals = 0  # of the mail server, one after another
        self.next_pruning = time.monotonic()

    def stop(self, *_: object) -> None:
        """End after the mail in hand; a signal handler, which another signal may interrupt, so it
        takes no lock (an Event has one)."""
        self.is_stopping = True

    def run(self) -> None:
        """Work until stopped, through outages of the database."""
        logger.info("mail worker started")
        while not self.is_stopping:
            close_old_connections()
            reached = self.run_safely(self.round) is not False
            self.run_safely(Heartbeat.objects.beat_round)
            self.run_safely(self.prune_hourly)
            if self.run_safely(work_off):
                continue
            patience = self.POLL_SECONDS if reached else pause(self.refusals).total_seconds()
            self.wait(min(patience, 60))
        logger.info("mail worker stopped")

    def wait(self, seconds: float) -> None:
        """Wait, unless stopped meanwhile."""
        end = time.monotonic() + seconds
        while not self.is_stopping and time.monotonic() < end:
            time.sleep(min(seconds, self.POLL_SECONDS))

    def run_safely(self, work: Callable[[], object]) -> object:
        """The work's answer; None where it failed, which is logged."""
        try:
            return work()
        except DatabaseError as error:
            logger.error("mail worker: the database failed (%s)", type(error).__name__)
        except Exception:
            logger.exception("mail worker: it goes on")
        connection.close()
        return None

    def round(self, by: datetime | None = None) -> bool:
        """Decide on what was requested and send what is due; False if the mail server could not be
        reached. Goes on for as long as more comes in, but for what falls due after `by`."""
        server = get_connection()
        try:
            while not self.is_stopping and process_next(server, by):
                pass
        except PROBLEMS as error:
            self.refusals += 1
            place = f"{getattr(server, 'host', '')}:{getattr(server, 'port', '')}".strip(":")
            problem = failure_summary(error)
            logger.warning("mail server %s: %s, try %d", place, problem, self.refusals)
            return False
        finally:
            with contextlib.suppress(*PROBLEMS):
                server.close()
        self.refusals = 0
        return True

    def prune_hourly(self) -> None:
        if time.monotonic() >= self.next_pruning:
            self.next_pruning = time.monotonic() + 3600
            prune()
            Heartbeat.objects.beat("prune")
