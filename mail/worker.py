"""The worker that empties the outbox: decides on what was requested, and sends what is due."""

import contextlib
import logging
import smtplib
import ssl
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend as SMTPBackend
from django.db import DatabaseError, close_old_connections, connection

from mail.heartbeat import Heartbeat
from mail.outbox import PROBLEMS, WAITING, OutgoingMail, State, failure_summary, pause
from mail.systemd import notify

logger = logging.getLogger(__name__)

BATCH = 20  # mails
T = TypeVar("T")


def process_next(state: State, server: BaseEmailBackend, by: datetime | None = None) -> bool:
    """Process the mail in this state that has been due longest; False when there is none, or the
    mail server is in trouble. Raises its PROBLEMS when it cannot be reached.

    Several workers may run: a mail is leased before it is processed. No transaction and no row
    lock is held while the mail server takes its time.
    """
    due = OutgoingMail.objects.due(by).filter(state=state)
    while (mail := due.first()) is not None:
        if state == State.READY:
            server.open()
        if mail.lease():
            return mail.process(server)
    return False


def failed_step(server: BaseEmailBackend, error: Exception) -> str:
    """Which step of opening a connection failed, and with which server, for the log."""
    if not isinstance(server, SMTPBackend):
        return "opening the mail backend"
    place = f"{server.host}:{server.port}"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"signing in to {place}"
    if server.use_tls and isinstance(error, ssl.SSLError | smtplib.SMTPNotSupportedError):
        return f"STARTTLS with {place}"
    return f"connecting to {place}"


class Worker:
    """Empties the outbox until stopped, does other waiting work in batches, and runs `hourly` once
    an hour."""

    POLL_SECONDS = 0.5
    HOUR = 3600

    def __init__(
        self,
        hourly: Callable[[], object] = lambda: None,
        work_off: Callable[[], int] = lambda: 0,
    ) -> None:
        self.hourly = hourly  # other work, once an hour
        self.work_off = work_off  # a batch of other waiting work; returns its size
        self.stopping = threading.Event()
        self.refusals = 0  # of the mail server, one after another
        self.next_hour = time.monotonic()

    def stop(self, *_: object) -> None:
        """End after the mail in hand; usable as a signal handler."""
        self.stopping.set()

    def should_continue(self) -> bool:
        """Whether to take up the next thing. It tells systemd that we are alive: a worker that
        hangs in one thing for longer than the unit's WatchdogSec is killed, and started again."""
        notify("WATCHDOG=1")
        return not self.stopping.is_set()

    def run(self) -> None:
        """Work until stopped, through outages of the database."""
        logger.info("mail worker started")
        notify("READY=1")
        while self.should_continue():
            close_old_connections()
            reached = self.run_safely(self.round) is not False
            self.run_safely(Heartbeat.objects.beat_round)
            self.run_safely(self.do_hourly)
            if self.run_safely(self.work_off):
                continue
            patience = self.POLL_SECONDS if reached else pause(self.refusals).total_seconds()
            self.stopping.wait(min(patience, 60))
        logger.info("mail worker stopped")

    def run_safely(self, work: Callable[[], T]) -> T | None:
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
        """Decide on what was requested and send what is due, by turns, so that neither waits for
        the end of the other; False if the mail server could not be reached.

        Goes on for as long as more comes in, but for what falls due after `by`.
        """
        server = get_connection()
        try:
            while any([self.batch(state, server, by) for state in WAITING]):  # noqa: C419
                pass
        except PROBLEMS as error:
            self.refusals += 1
            step, problem = failed_step(server, error), failure_summary(error)
            logger.warning("mail server: %s failed (%s), try %d", step, problem, self.refusals)
            return False
        finally:
            with contextlib.suppress(*PROBLEMS):
                server.close()
        self.refusals = 0
        return True

    def batch(self, state: State, server: BaseEmailBackend, by: datetime | None) -> bool:
        """Process up to BATCH mails in this state, those due longest first; whether any was."""
        taken = 0
        while taken < BATCH and self.should_continue() and process_next(state, server, by):
            taken += 1
        return taken > 0

    def do_hourly(self) -> None:
        if time.monotonic() >= self.next_hour:
            self.next_hour = time.monotonic() + self.HOUR
            self.hourly()
            Heartbeat.objects.beat("prune")
