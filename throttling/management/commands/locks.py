"""`manage.py locks`: list the locked e-mail addresses."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import F

from throttling.models import Lockout


class Command(BaseCommand):
    help = (
        "List the locked e-mail addresses, the latest end first, with the ten client addresses of "
        "the most failed attempts in the last 24 hours."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all",
            action="store_true",
            help="also list addresses that are not locked",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per line")

    def handle(self, *args: object, **options: Any) -> None:
        lockouts = Lockout.objects.all() if options["all"] else Lockout.objects.locked()
        if not options["json"] and not lockouts.exists():
            self.stdout.write("No address is locked.")
        for lockout in lockouts.order_by(F("locked_until").desc(nulls_last=True), "email"):
            until = lockout.locked_until and lockout.locked_until.isoformat(timespec="seconds")
            row = {
                "email": lockout.email,
                "known_device": bool(lockout.device),
                "failures": lockout.failures,
                "locked": lockout.is_locked(),
                "locked_until": until,
                "refusals": lockout.refusals,
                "sources": lockout.failure_sources(),
            }
            self.stdout.write(json.dumps(row) if options["json"] else lines_of(row))


def lines_of(row: dict[str, Any]) -> str:
    """The lines to print for a lockout without --json: its state, then its client addresses."""
    address = f"{row['email']} (a known device)" if row["known_device"] else row["email"]
    state = f"locked until {row['locked_until']}" if row["locked"] else "not locked"
    lines = [f"{address}: {row['failures']} failures, {state}, refused {row['refusals']} times"]
    lines += [f"    {times} from {source or '-'}" for source, times in row["sources"].items()]
    return "\n".join(lines)
