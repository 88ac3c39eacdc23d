"""manage.py prunelockouts: delete the lockout records that say nothing any more."""

from typing import Any

from django.core.management.base import BaseCommand

from throttling.models import Lockout


class Command(BaseCommand):
    help = "Deletes lockout records without a lock or a failure in the last 24 hours."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Lockout records deleted: {Lockout.objects.prune()}.")
