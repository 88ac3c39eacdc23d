"""`manage.py listkeys`: the signing keys and their states."""

from datetime import UTC

from django.core.management.base import BaseCommand

from keys.cache import read_keys


class Command(BaseCommand):
    help = "List the signing keys: kid, state, and from when each signs."

    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(f"{'kid':43}  {'state':10}  signs from")
        held = read_keys()
        for key in held.keys.values():
            time = key.signs_from.astimezone(UTC)
            self.stdout.write(f"{key.kid:43}  {held.state_of(key):10}  {time:%Y-%m-%dT%H:%M:%SZ}")
