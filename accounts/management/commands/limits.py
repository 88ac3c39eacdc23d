"""`manage.py limits`: the requests that are counted for an address or a user."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.models import User
from audit import trail
from audit.models import Kind
from throttling.addresses import canonical
from throttling.limiter import RedisUnavailable, limit_of, limiter


class Command(BaseCommand):
    help = "Show, or clear, how many requests are counted for an IP address or a user."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("who", help="an IP address, or a user's e-mail address or id")
        parser.add_argument("--clear", action="store_true", help="let the caller begin anew")

    def handle(self, *args: object, **options: Any) -> None:
        who = caller(options["who"])
        try:
            counts = limiter.look_up(who)
            if options["clear"]:
                with transaction.atomic():
                    trail.record(Kind.LIMITS_CLEARED, subject=options["who"])
                    limiter.clear(who)
        except RedisUnavailable as error:
            raise CommandError(str(error)) from None
        for tier, (used, seconds) in counts.items():
            limit = limit_of(tier, who)
            self.stdout.write(f"{tier}: {used} of {limit} requests; the window ends in {seconds} s")
        if not counts:
            self.stdout.write(f"{who} has made no requests in this window.")
        elif options["clear"]:
            self.stdout.write("Cleared.")


def caller(text: str) -> str:
    """The counter's name for an address, or for the user of an e-mail address or id."""
    if address := canonical(text):
        return address
    try:
        user = User.objects.filter(pk=UUID(text)).first()
    except ValueError:
        user = User.objects.filter(email=text).first()
    if user is None:
        raise CommandError(f"{text} is neither an IP address nor a user's e-mail address or id.")
    return f"user:{user.pk}"
