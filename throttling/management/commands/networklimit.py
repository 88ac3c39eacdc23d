"""`manage.py networklimit 203.0.113.0/24 200`: list, set and remove networks' credential limits."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from throttling.models import NetworkLimit


class Command(BaseCommand):
    help = (
        "List the networks with a credential limit of their own, or set or remove a network's "
        "limit. The servers follow in about ten seconds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("network", nargs="?", help="such as 203.0.113.0/24; without it: list")
        parser.add_argument(
            "limit", nargs="?", type=int, help="credential calls in a window, for each address"
        )
        parser.add_argument("--remove", action="store_true", help="remove the network's limit")

    def handle(self, *args: object, **options: Any) -> None:
        network, limit, removes = options["network"], options["limit"], options["remove"]
        if network is None and not removes:
            self.list_limits()
            return
        if network is None or removes == (limit is not None):
            raise CommandError("Give a network and a limit, or a network and --remove.")
        try:
            if removes:
                network, had_limit = NetworkLimit.objects.remove_limit(network)
                state = (
                    "no longer has a limit of its own" if had_limit else "has no limit of its own"
                )
            else:
                row, is_changed = NetworkLimit.objects.set_limit(network, limit)
                network = row.network
                since = "now" if is_changed else "already"
                state = f"{since} has a limit of {row.limit} for each address"
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"{network} {state}.")

    def list_limits(self) -> None:
        rows = NetworkLimit.objects.all()
        if not rows:
            self.stdout.write("No network has a limit of its own.")
        for row in rows:
            self.stdout.write(f"{row.network:<43} {row.limit}")
