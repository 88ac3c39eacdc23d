"""`manage.py listkeys`: the signing keys and their states."""

from datetime import UTC, datetime

from django.core.management.base import BaseCommand

from keys.cache import states


class Command(BaseCommand):
    help = "List the signing keys: kid, state, from when each signs and when its tokens expire."

    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(f"{'kid':43}  {'state':10}  {'signs from':20}  last token expires")
        for key, state in states():
            times = f"{moment(key.signs_from)}  {moment(key.expires_at)}"
            self.stdout.write(f"{key.kid:43}  {state:10}  {times}")


def moment(time: datetime | None) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if time else "-"
