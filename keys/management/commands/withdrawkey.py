"""`manage.py withdrawkey`: withdraw a signing key that has leaked."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from keys.models import SigningKey


class Command(BaseCommand):
    help = (
        "Withdraw a signing key. Within three seconds every host that reaches the database refuses "
        "its tokens, and their users must sign in again. If no other key is left, a new one signs "
        "at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", help="as `listkeys` shows it; after `--` if it begins with a -")

    def handle(self, *args: object, kid: str, **options: Any) -> None:
        if not SigningKey.objects.withdraw(kid):
            raise CommandError(f"{kid} is unknown, or was already withdrawn.")
        self.stdout.write(f"{kid} is withdrawn.")
