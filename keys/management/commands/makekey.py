"""`manage.py makekey`: the first signing key of a new installation."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from keys import folder


class Command(BaseCommand):
    help = (
        "Make the first signing key in JWT_KEYS_DIR, unless there is one, and tell the database "
        "of what is there."
    )

    def handle(self, *args: object, **options: Any) -> None:
        had = any(settings.JWT_KEYS_DIR.glob("*.pem"))
        path = folder.make_first()
        self.stdout.write("there is a key already" if had else f"made {path}")
        try:
            folder.record_published()
        except Error as error:
            problem = f"The database must know it: migrate, then run this again ({error})."
            raise CommandError(problem) from None
