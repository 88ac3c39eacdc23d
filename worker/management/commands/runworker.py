"""`manage.py runworker`: the worker that runs beside the server."""

import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from mail.outbox import REQUEST_SPREAD
from worker.models import ROUND, WORKER_SILENT_AFTER, Heartbeat
from worker.rounds import Worker, run_round_jobs


class Command(BaseCommand):
    help = "Send waiting mails, finish erasures and delete old data, until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            "--once",
            action="store_true",
            help="send the mails that are due and do the work of each round, without pruning, then"
            " stop; exit with 1 if a mail is due and the mail server does not answer",
        )
        mode.add_argument(
            "--check", action="store_true", help="exit with 1 if no worker has run for ten minutes"
        )

    def handle(self, *args: object, **options: Any) -> None:
        if options["check"]:
            if abs(Heartbeat.objects.time_since(ROUND)) > WORKER_SILENT_AFTER:
                raise CommandError("No worker has run for ten minutes.")
            return
        worker = Worker()
        if options["once"]:
            is_mail_server_up = worker.work_round(by=timezone.now() + REQUEST_SPREAD)
            while run_round_jobs():
                pass
            if not is_mail_server_up:
                raise SystemExit(1)
            return
        signal.signal(signal.SIGTERM, worker.stop)
        signal.signal(signal.SIGINT, worker.stop)
        worker.run()
