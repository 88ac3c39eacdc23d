"""`manage.py createsuperuser`: Django's, and a word on the second factor."""

from typing import Any

from django.conf import settings
from django.contrib.auth.management.commands import createsuperuser


class Command(createsuperuser.Command):
    def handle(self, *args: object, **options: Any) -> None:
        super().handle(*args, **options)
        if options["verbosity"] < 1:
            return
        if settings.STAFF_SECOND_FACTOR:
            self.stdout.write("The first log-in at /admin/ sets up a second factor.")
        else:
            where = f"{settings.FRONTEND_URL}/profile"
            self.stdout.write(f"Log in at {where} to set up a second factor for the back office.")
