"""`manage.py status`: one screen of what state the service is in."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from backoffice.status import find

EXITS = {"ok": 0, "degraded": 1, "down": 2}


class Command(BaseCommand):
    help = (
        "Show the state of the database, this host's clock, the limiter's store, keys, mail, "
        "the mail worker, locks, migrations and settings. Exits with 0 when all is well, 1 when a "
        "part is degraded, 2 when one is down."
    )
    requires_system_checks = []  # it reports them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: object, **options: Any) -> None:
        found = find()
        if options["json"]:
            self.stdout.write(json.dumps({finding.part: finding._asdict() for finding in found}))
        else:
            lines = [f"{it.part:11} {it.state:9} {it.words}" for it in found]
            self.stdout.write("\n".join(lines))
        sys.exit(max(EXITS[finding.state] for finding in found))
