"""`manage.py makekey`: the first signing key of a new installation."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from accounts import keys


class Command(BaseCommand):
    help = "Make the first signing key in JWT_KEYS_DIR; does nothing when there is one."

    def handle(self, *args: Any, **options: Any) -> None:
        had = any(settings.JWT_KEYS_DIR.glob("*.pem"))
        path = keys.make_first()
        self.stdout.write("there is a key already" if had else f"made {path}")
