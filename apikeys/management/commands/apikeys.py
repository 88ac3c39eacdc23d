"""`manage.py apikeys`: list the API keys, or revoke one."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import NotFound

from apikeys.models import ApiKey
from audit.actors import COMMAND


class Command(BaseCommand):
    help = "List the API keys that work, or revoke one."

    def add_arguments(self, parser: CommandParser) -> None:
        revoke = "end a key at once, and revoke its open invitations"
        parser.add_argument("--revoke", type=UUID, metavar="ID", help=revoke)

    def handle(self, *args: object, **options: Any) -> None:
        keys = ApiKey.objects.select_related("account")
        if options["revoke"] is None:
            self.stdout.write("\n".join(map(describe_key, keys.live())) or "There are none.")
            return
        key = keys.filter(pk=options["revoke"]).first()
        if key is None:
            raise CommandError(f"No API key has the ID {options['revoke']}.")
        try:
            was_live = key.revoke(COMMAND)
        except NotFound:
            raise CommandError("The key's company was deleted just now.") from None
        state = "is revoked, with its open invitations" if was_live else "was revoked before"
        self.stdout.write(f"{key} {state}.")


def describe_key(key: ApiKey) -> str:
    used = f"{key.last_used_at:%Y-%m-%d}" if key.last_used_at else "never"
    facts = [f"{key.pk}", str(key.account or "operators"), str(key), " ".join(key.scopes)]
    return "  ".join([*facts, f"used {used}", f"until {key.expires_at:%Y-%m-%d}"])
