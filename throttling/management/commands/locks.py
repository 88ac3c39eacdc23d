"""manage.py locks: the e-mail addresses that are locked now."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import F

from throttling.models import Lockout


class Command(BaseCommand):
    help = (
        "Lists the locked e-mail addresses, the longest lock first, and the client addresses from "
        "which the failures of the last 24 hours came."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="also those that have only failed")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: object, **options: Any) -> None:
        records = Lockout.objects.all() if options["all"] else Lockout.objects.locked()
        longest_first = F("locked_until").desc(nulls_last=True)
        if not options["json"] and not records.exists():
            self.stdout.write("no address is locked")
        for lockout in records.order_by(longest_first, "email").iterator():
            self.stdout.write(as_json(lockout) if options["json"] else as_text(lockout))


def until(lockout: Lockout) -> str | None:
    return lockout.locked_until.isoformat(timespec="seconds") if lockout.locked_until else None


def as_json(lockout: Lockout) -> str:
    return json.dumps(
        {
            "email": lockout.email,
            "known_device": bool(lockout.device),
            "failures": lockout.failures,
            "locked_until": until(lockout),
            "refusals": lockout.refusals,
            "sources": lockout.sources(),
        }
    )


def as_text(lockout: Lockout) -> str:
    state = f"locked until {until(lockout)}" if lockout.locked_until else "not locked"
    who = f"{lockout.email} (a known device)" if lockout.device else lockout.email
    lines = [f"{who}: {lockout.failures} failures, {state}, refused {lockout.refusals}"]
    lines += [f"    {times} from {source or '-'}" for source, times in lockout.sources().items()]
    return "\n".join(lines)
