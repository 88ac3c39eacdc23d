"""`manage.py rotatekey`: a new signing key, which every host takes over by itself."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from keys.models import SigningKey

NOW = 5  # seconds: every host has read the key by then
MOST = 30 * 86400


def delay(text: str) -> int:
    if not text.isdecimal() or not NOW <= int(text) <= MOST:
        raise ArgumentTypeError(f"give a whole number of seconds from {NOW} to {MOST} (30 days).")
    return int(text)


class Command(BaseCommand):
    help = (
        "Publish a new signing key, which signs after ten minutes. The preceding one goes when "
        "its last token has expired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        when = parser.add_mutually_exclusive_group()
        when.add_argument("--delay", type=delay, default=600, metavar="SECONDS")
        now = f"sign as soon as every host has read the key ({NOW} seconds)"
        when.add_argument("--now", action="store_const", const=NOW, dest="delay", help=now)

    def handle(self, *args: object, **options: Any) -> None:
        key = SigningKey.objects.publish(options["delay"])
        self.stdout.write(f"{key.kid} signs from {key.signs_from:%Y-%m-%dT%H:%M:%SZ}.")
