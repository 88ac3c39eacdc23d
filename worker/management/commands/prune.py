"""`manage.py prune`: delete old data."""

from typing import Any

from django.core.management.base import BaseCommand

from worker.jobs import prune_all


class Command(BaseCommand):
    help = (
        "Delete links and mails 30 days after they end, failed attempts after 24 hours without "
        "another, and audit events older than AUDIT_KEEP_DAYS. The worker does this hourly."
    )

    def handle(self, *args: object, **options: Any) -> None:
        for name, count in prune_all().items():
            self.stdout.write(f"{name}: {count} deleted")
