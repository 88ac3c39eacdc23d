"""The worker: sends mail, does other waiting work, and deletes old data."""

import contextlib
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.apps import apps
from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.management import call_command
from django.db import DatabaseError, close_old_connections, connection

from mail.outbox import PROBLEMS, OutgoingMail, failure_summary, retry_pause
from worker.models import Heartbeat

logger = logging.getLogger(__name__)


def process_next(server: BaseEmailBackend, by: datetime | None = None) -> bool:
    """Process the mail that is next. False if there is none, or the mail server fails.
    Raises one of PROBLEMS if the server cannot be reached.

    Several workers may run, since each leases a mail before processing it. No transaction or row
    lock is held while the mail server answers.
    """
    while (mail := OutgoingMail.objects.next_due(by)) is not None:
        server.open()
        if mail.lease():
            return mail.process(server)
    return False


def prune_all() -> dict[str, int]:
    """Delete what is no longer kept, in batches; returns the numbers by model."""
    call_command("clearsessions")  # of the admin site
    return {
        str(model._meta.verbose_name_plural): model._default_manager.prune_expired()
        for model in apps.get_models()
        if hasattr(model._default_manager, "prune_expired")
    }


def process_backlog() -> int:
    """Do a batch of the waiting work of each model with a `process_backlog`, besides mails; returns
    the number of processed rows."""
    managers = [model._default_manager for model in apps.get_models()]
    return sum(one.process_backlog() for one in managers if hasattr(one, "process_backlog"))


class Worker:
    """Empties the outbox, does other waiting work in batches and prunes hourly, until stopped."""

    POLL_SECONDS = 0.5

    def __init__(self) -> None:
        self.is_stopping = False
        self.refusals = 0  # consecutive failures of the mail server
        self.next_pruning = time.monotonic()
        self.has_waited = False  # with the pruning that is due

    def stop(self, *_: object) -> None:
        """End after the current mail. A signal handler, which another signal may interrupt, so it
        must not take a lock, as an Event does."""
        self.is_stopping = True

    def run(self) -> None:
        """Work until stopped, through outages of the database."""
        logger.info("worker started")
        while not self.is_stopping:
            close_old_connections()
            reached = self.run_safely(self.work_round) is not False
            self.run_safely(Heartbeat.objects.record_round)
            self.run_safely(self.prune_hourly)
            if self.run_safely(process_backlog):
                continue
            patience = self.POLL_SECONDS if reached else retry_pause(self.refusals).total_seconds()
            self.wait_unless_stopped(min(patience, 60))
        logger.info("worker stopped")

    def wait_unless_stopped(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.is_stopping and time.monotonic() < end:
            time.sleep(min(seconds, self.POLL_SECONDS))

    def run_safely(self, work: Callable[[], object]) -> object:
        """The work's result; None if it failed, which is logged."""
        try:
            return work()
        except DatabaseError as error:
            logger.error("worker: the database failed (%s)", type(error).__name__)
        except Exception:
            logger.exception("worker: unexpected error, continuing")
        connection.close()
        return None

    def work_round(self, by: datetime | None = None) -> bool:
        """Decide on requested mails and send what is due, including mails that come in meanwhile,
        but none that falls due after `by`. False if the mail server could not be reached."""
        server = get_connection()
        try:
            while not self.is_stopping and process_next(server, by):
                Heartbeat.objects.record_round()  # thousands of mails may be due
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
        """Days after the last pruning, wait for another hour: the clock may be ahead, and what is
        pruned is lost."""
        if time.monotonic() >= self.next_pruning:
            self.next_pruning = time.monotonic() + 3600
            gap = Heartbeat.objects.time_since("prune")
            self.has_waited = timedelta(days=2) < gap < timedelta.max and not self.has_waited
            if not self.has_waited:
                prune_all()
                Heartbeat.objects.record_done("prune")
