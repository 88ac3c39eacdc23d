"""`manage.py listkeys`: the signing keys and their states."""

import json
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from keys.cache import states


class Command(BaseCommand):
    help = "List the signing keys: kid, state, from when each signs and when its tokens expire."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: object, **options: Any) -> None:
        keys = [
            {
                "kid": key.kid,
                "state": state,
                "signs_from": moment(key.signs_from),
                "expires_at": moment(key.expires_at),
            }
            for key, state in states()
        ]
        if options["json"]:
            self.stdout.write(json.dumps({"keys": keys}))
            return
        self.stdout.write(f"{'kid':43}  {'state':10}  {'signs from':20}  last token expires")
        for key in keys:
            self.stdout.write(
                "{kid:43}  {state:10}  {signs_from}  ".format(**key) + (key["expires_at"] or "-")
            )


def moment(time: datetime | None) -> str | None:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if time else None
