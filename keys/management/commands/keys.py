"""`manage.py keys`: the signing keys of this host, and those that it lacks."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from keys.survey import KeyState, survey


class Command(BaseCommand):
    help = (
        "List the signing keys: kid, file, state, from when they sign and when the last token of "
        "each dies; also those that the database knows to be published and this host lacks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="report as JSON, times as epochs")

    def handle(self, *args: object, **options: Any) -> None:
        found = survey()
        if options["json"]:
            self.stdout.write(json.dumps({"keys": [asdict(key) for key in found]}))
            return
        self.stdout.write("\n".join(map(line, found)) or "no key here, and none is published")


def line(key: KeyState) -> str:
    return (
        f"{key.kid or '-':43}  {key.state:10}  {key.file or '-':20}"
        f"  signs from {moment(key.signs_from)}  dies at {moment(key.dies_at)}"
    )


def moment(seconds: float | None) -> str:
    """ISO 8601 in UTC, as wide as every other."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if seconds else "-" * 20
