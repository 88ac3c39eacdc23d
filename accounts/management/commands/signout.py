"""`manage.py signout`: end the sessions of one user, or of all users."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

import audit
from accounts.models import User
from audit.actors import COMMAND
from audit.models import Kind


class Command(BaseCommand):
    help = "End all sessions and connected apps of one user, or of all users."

    def add_arguments(self, parser: CommandParser) -> None:
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument("email", nargs="?", help="the user's e-mail address")
        target.add_argument("--everybody", action="store_true", help="sign all users out")

    def handle(self, *args: object, **options: Any) -> None:
        if options["everybody"]:
            with transaction.atomic():
                count = User.objects.sign_out()
                audit.record(Kind.LOGOUT_EVERYWHERE, subject="everybody", users=count)
        else:
            try:
                User.objects.get(email=options["email"]).sign_out(COMMAND)
            except (User.DoesNotExist, PermissionDenied):  # or was erased meanwhile
                raise CommandError(f"No user has the address {options['email']}.") from None
            count = 1
        self.stdout.write(f"Users signed out everywhere: {count}.")
