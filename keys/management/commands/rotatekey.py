"""`manage.py rotatekey`: add a new signing key, which every host reads within seconds."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from keys.models import SigningKey

NOW_SECONDS = 5  # seconds after which every host that reaches the database has read a new key
MAX_DELAY_SECONDS = 30 * 86400


class Command(BaseCommand):
    help = (
        "Publish a new signing key, which signs after ten minutes or as an option says. The worker "
        "deletes the previous one after its last token has expired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        when = parser.add_mutually_exclusive_group()
        when.add_argument("--delay", type=int, default=600, help="in seconds, 600 if not given")
        now = f"sign after {NOW_SECONDS} seconds, in which the hosts read the key"
        when.add_argument("--now", action="store_const", const=NOW_SECONDS, dest="delay", help=now)

    def handle(self, *args: object, delay: int, **options: Any) -> None:
        if not NOW_SECONDS <= delay <= MAX_DELAY_SECONDS:
            raise CommandError(
                f"--delay takes {NOW_SECONDS} to {MAX_DELAY_SECONDS} seconds (30 days)."
            )
        key = SigningKey.objects.publish(delay)
        self.stdout.write(f"{key.kid} signs from {key.signs_from:%Y-%m-%dT%H:%M:%SZ}.")
