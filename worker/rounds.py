"""Worker: sends due mails and runs due jobs, round after round."""

import contextlib
import logging
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.core.mail import get_connection
from django.db import DatabaseError, close_old_connections, connection

from mail.delivery import deliver
from mail.outbox import OutgoingMail, retry_pause
from mail.smtp import MAIL_SERVER_ERRORS, failure_summary
from worker import jobs
from worker.models import ROUND, Heartbeat

logger = logging.getLogger(__name__)


def run_round_jobs() -> int:
    """Process one batch of every job that runs in each round. Returns the number of rows, 0 once no
    job has work."""
    return sum(job.run() for job in jobs.jobs_by_name.values() if job.every == jobs.EACH_ROUND)


class Worker:
    """Works in rounds until it is stopped. One for each process of `runworker`."""

    POLL_SECONDS = 0.5  # between two rounds
    LONGEST_WAIT_SECONDS = 60  # between two rounds while the mail server fails

    def __init__(self) -> None:
        self.is_stopping = False
        self.server_failures = 0  # consecutive failures to reach the mail server
        self.next_runs: dict[str, float] = {}  # when jobs that ran are due, in time.monotonic()

    def stop(self, *_: object) -> None:
        """Let `run` end after the current mail and the jobs that are due. A signal handler, which
        another signal may interrupt, so it must not take a lock, as threading.Event does."""
        self.is_stopping = True

    def run(self) -> None:
        """Work in rounds until `stop` is called, also while the database is unavailable:

        1. Send the mails that are due.
        2. Record the heartbeat, also after an error.
        3. Run the jobs that are due.
        4. Wait, unless a job of each round had work and so may have more. The wait is longer while
           the mail server can't be reached.
        """
        logger.info("worker started")
        while not self.is_stopping:
            close_old_connections()
            is_mail_server_up = self.run_safely(self.work_round) is not False
            self.run_safely(partial(Heartbeat.objects.record_done, ROUND))
            if self.run_jobs():
                continue
            if is_mail_server_up:
                self.wait_unless_stopped(self.POLL_SECONDS)
            else:
                pause = retry_pause(self.server_failures).total_seconds()
                self.wait_unless_stopped(min(pause, self.LONGEST_WAIT_SECONDS))
        logger.info("worker stopped")

    def wait_unless_stopped(self, seconds: float) -> None:
        """Sleep for so many seconds, or until POLL_SECONDS after a call of `stop`."""
        end = time.monotonic() + seconds
        while not self.is_stopping and time.monotonic() < end:
            time.sleep(min(seconds, self.POLL_SECONDS))

    def run_safely(self, work: Callable[[], object]) -> object:
        """Call `work`, and return what it returns. An exception is logged, and None returned; the
        next query then opens a new database connection."""
        try:
            return work()
        except DatabaseError as error:
            logger.error("worker: the database failed (%s)", type(error).__name__)
        except Exception:
            logger.exception("worker: unexpected error, continuing")
        connection.close()
        return None

    def work_round(self, by: datetime | None = None) -> bool:
        """Deliver the mails that are due, also those that become due meanwhile; with `by`, at once
        those that become due by that time. Ends early if `stop` is called. Returns False if no
        connection to the mail server can be opened, which counts as a server failure, or if the
        server gave no reply during a mail. Raises DatabaseError while the database is
        unavailable."""
        server = get_connection()
        try:
            while not self.is_stopping and (mail := OutgoingMail.objects.next_due(by)):
                server.open()
                if not deliver(mail, server):
                    return False  # the next round connects anew
                Heartbeat.objects.record_done(ROUND)  # thousands of mails may be due
        except MAIL_SERVER_ERRORS as error:
            self.server_failures += 1
            address = f"{getattr(server, 'host', '')}:{getattr(server, 'port', '')}".strip(":")
            reason = failure_summary(error)
            logger.warning("mail server %s: %s, try %d", address, reason, self.server_failures)
            return False
        finally:
            with contextlib.suppress(*MAIL_SERVER_ERRORS):
                server.close()
        self.server_failures = 0
        return True

    def run_jobs(self) -> bool:
        """Run the jobs that are due. Returns whether a job that runs in each round had work, and so
        may have more. The exception of a job is logged, and counts as no work."""
        had_work = False
        for job in jobs.jobs_by_name.values():
            if time.monotonic() >= self.next_runs.get(job.name, 0):
                self.next_runs[job.name] = time.monotonic() + job.every.total_seconds()
                rows = self.run_safely(partial(self.run_job, job))
                had_work |= bool(rows) and job.every == jobs.EACH_ROUND
        return had_work

    def run_job(self, job: jobs.Job) -> int:
        """Run a job, and record its heartbeat; returns the number of rows that it processed. Raises
        the job's exception, and then records nothing."""
        rows = job.run()
        Heartbeat.objects.record_done(job.name)
        return rows
