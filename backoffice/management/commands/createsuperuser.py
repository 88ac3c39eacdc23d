"""`manage.py createsuperuser`: Django's, and a word on the second factor."""

from typing import Any

from django.conf import settings
from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError


class Command(createsuperuser.Command):
    def handle(self, *args: object, **options: Any) -> None:
        if options["interactive"] and not (self.stdin and self.stdin.isatty()):
            raise CommandError(
                "There is no terminal to ask at. Set DJANGO_SUPERUSER_EMAIL and "
                "DJANGO_SUPERUSER_PASSWORD, and run createsuperuser --noinput."
            )
        super().handle(*args, **options)
        if options["verbosity"] < 1:
            return
        if settings.STAFF_SECOND_FACTOR:
            self.stdout.write("The first log-in at /admin/ sets up a second factor.")
        else:
            where = f"{settings.FRONTEND_URL}/profile"
            self.stdout.write(f"Log in at {where} to set up a second factor for the back office.")
