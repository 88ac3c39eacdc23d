"""manage.py locks: the e-mail addresses that are locked now."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import F

from throttling.models import Lockout


class Command(BaseCommand):
    help = "Lists the locked e-mail addresses, the longest lock first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="also those that have only failed")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        records = Lockout.objects.all() if options["all"] else Lockout.objects.locked()
        longest_first = F("locked_until").desc(nulls_last=True)
        if not options["json"] and not records.exists():
            self.stdout.write("no address is locked")
        for record in records.order_by(longest_first, "email").iterator():
            until = record.locked_until and record.locked_until.isoformat(timespec="seconds")
            if options["json"]:
                line = {"email": record.email, "failures": record.failures, "locked_until": until}
                self.stdout.write(json.dumps(line))
            else:
                state = f"locked until {until}" if until else "not locked"
                self.stdout.write(f"{record.email}: {record.failures} failures, {state}")
