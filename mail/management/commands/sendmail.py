"""`manage.py sendmail`: the mail worker that runs beside the server."""

import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from mail.retention import prune
from mail.worker import Worker


class Command(BaseCommand):
    help = "Send the mails that were asked for, until stopped by SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="send what is due now, then end; 1 if refused"
        )

    def handle(self, *args: object, **options: Any) -> None:
        worker = Worker(hourly=prune)
        if options["once"]:
            if not worker.round(by=timezone.now()):
                raise SystemExit(1)
            return
        signal.signal(signal.SIGTERM, worker.stop)
        signal.signal(signal.SIGINT, worker.stop)
        worker.run()
