"""`manage.py unlock ada@example.com`: end an address's lockout."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from audit.actors import COMMAND
from base.emails import CanonicalEmailField
from throttling.models import Lockout


class Command(BaseCommand):
    help = "Unlock an e-mail address, and clear its failed attempts, for all its devices."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the e-mail address to unlock")

    def handle(self, *args: object, **options: Any) -> None:
        email = CanonicalEmailField().get_prep_value(options["email"]) or ""
        if Lockout.objects.unlock(email, COMMAND):
            self.stdout.write(f"{email} can sign in again.")
        else:
            self.stdout.write(f"{email} has no failed attempts.")
