"""`manage.py createsuperuser`: Django's, which without a terminal exits with 0 and does nothing."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError


class Command(createsuperuser.Command):
    def handle(self, *args: object, **options: Any) -> None:
        if options["interactive"] and not (self.stdin and self.stdin.isatty()):
            raise CommandError(
                "This command needs a terminal. Without one, set DJANGO_SUPERUSER_EMAIL and "
                "DJANGO_SUPERUSER_PASSWORD, and run createsuperuser --noinput."
            )
        super().handle(*args, **options)
