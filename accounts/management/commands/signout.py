"""`manage.py signout`: end the sessions of one user, or of all users."""

from typing import Any

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
        elif user := User.objects.filter(email=options["email"]).first():
            user.sign_out(COMMAND)
            count = 1
        else:
            raise CommandError(f"No user has the address {options['email']}.")
        self.stdout.write(f"Users signed out everywhere: {count}.")
