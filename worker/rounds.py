"""The worker and its rounds."""

import contextlib
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from django.core.mail import get_connection
from django.db import DatabaseError, close_old_connections, connection

from mail.delivery import deliver
from mail.outbox import OutgoingMail, retry_pause
from mail.smtp import MAIL_SERVER_ERRORS, failure_summary
from worker import jobs
from worker.models import ROUND, Heartbeat

logger = logging.getLogger(__name__)


class Worker:
    """Makes rounds until it is stopped."""

    POLL_SECONDS = 0.5

    def __init__(self) -> None:
        self.is_stopping = False
        self.refusals = 0  # consecutive failures of the mail server
        self.next_runs: dict[str, float] = {}  # time.monotonic() of jobs that ran, by name
        self.postponed_jobs: set[str] = set()  # the names of jobs that were put off once

    def stop(self, *_: object) -> None:
        """End after the current mail. A signal handler, which another signal may interrupt, so it
        must not take a lock, as an Event does."""
        self.is_stopping = True

    def run(self) -> None:
        """Work until stopped, through outages of the database. A round has four steps:

        1. Send the mails that are due.
        2. Record the heartbeat.
        3. Run the jobs that are due.
        4. Wait, unless a job of each round had work and so may have more.
        """
        logger.info("worker started")
        while not self.is_stopping:
            close_old_connections()
            reached = self.run_safely(self.work_round) is not False
            self.run_safely(partial(Heartbeat.objects.record_done, ROUND))
            if self.run_jobs():
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
            while not self.is_stopping and (mail := OutgoingMail.objects.next_due(by)):
                server.open()
                if not deliver(mail, server):
                    break
                Heartbeat.objects.record_done(ROUND)  # thousands of mails may be due
        except MAIL_SERVER_ERRORS as error:
            self.refusals += 1
            place = f"{getattr(server, 'host', '')}:{getattr(server, 'port', '')}".strip(":")
            problem = failure_summary(error)
            logger.warning("mail server %s: %s, try %d", place, problem, self.refusals)
            return False
        finally:
            with contextlib.suppress(*MAIL_SERVER_ERRORS):
                server.close()
        self.refusals = 0
        return True

    def run_jobs(self) -> bool:
        """Run the jobs that are due. True if a job of each round had work."""
        had_work = False
        for job in jobs.registered.values():
            if time.monotonic() >= self.next_runs.get(job.name, 0):
                self.next_runs[job.name] = time.monotonic() + job.every.total_seconds()
                rows = self.run_safely(partial(self.run_job, job))
                had_work |= bool(rows) and job.every == jobs.EACH_ROUND
        return had_work

    def run_job(self, job: jobs.Job) -> int:
        """Run the job, or let one with a period wait for another if it seems not to have run for
        days: the clock may be ahead, and what is deleted is lost."""
        gap = Heartbeat.objects.time_since(job.name)
        is_suspicious = job.every and job.every + timedelta(days=2) < gap < timedelta.max
        if is_suspicious and job.name not in self.postponed_jobs:
            self.postponed_jobs.add(job.name)
            return 0
        self.postponed_jobs.discard(job.name)
        rows = job.run()
        Heartbeat.objects.record_done(job.name)
        return rows
