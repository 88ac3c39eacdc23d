"""`manage.py listkeys`: list the signing keys and their states."""

from django.core.management.base import BaseCommand

from keys.cache import signing_keys


class Command(BaseCommand):
    help = "List the signing keys: kid, state, and the time from which each one signs."

    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(f"{'kid':43}  {'state':10}  signs from")
        signing_keys.refresh()
        for key in signing_keys.keys.values():
            self.stdout.write(f"{key.kid:43}  {key.state:10}  {key.signs_from:%Y-%m-%dT%H:%M:%SZ}")
