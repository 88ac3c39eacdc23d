"""`manage.py prune`: delete what is past its keeping time."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mail.retention import prune


class Command(BaseCommand):
    help = (
        "Delete links and mails 30 days after their end, counts of failures without one in 24 "
        "hours, and audit records older than AUDIT_KEEP_DAYS. The mail worker does so hourly."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: object, **options: Any) -> None:
        deleted = prune()
        if options["json"]:
            self.stdout.write(json.dumps(deleted))
            return
        for name, count in deleted.items():
            self.stdout.write(f"{name}: {count} deleted")
