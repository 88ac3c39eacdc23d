"""`manage.py prune`: delete old data."""

from typing import Any

from django.core.management.base import BaseCommand

from worker.jobs import prune_all


class Command(BaseCommand):
    help = (
        "Delete old data: links 30 days after they expire, mails 30 days after they were queued, "
        "failed attempts after 24 hours without another, audit events older than AUDIT_KEEP_DAYS, "
        "and the like, such as ended keys and sessions. The worker does this hourly."
    )

    def handle(self, *args: object, **options: Any) -> None:
        for name, count in prune_all().items():
            self.stdout.write(f"{name}: {count} deleted")
