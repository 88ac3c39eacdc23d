"""`manage.py signout`: end the sessions of one user, or of everybody."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.models import User
from audit import trail
from audit.models import Kind


class Command(BaseCommand):
    help = "End every session of a user, or of everybody: no token issued so far works any more."

    def add_arguments(self, parser: CommandParser) -> None:
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("email", nargs="?", help="the user's e-mail address")
        who.add_argument("--everybody", action="store_true")

    def handle(self, *args: object, **options: Any) -> None:
        signed_out = everybody() if options["everybody"] else single(options["email"])
        self.stdout.write(f"{signed_out} signed out everywhere")


def everybody() -> int:
    with transaction.atomic():
        count: int = User.objects.sign_out()
        trail.record(Kind.LOGOUT_EVERYWHERE, subject="everybody", users=count)
    return count


def single(email: str) -> int:
    user = User.objects.filter(email=email).first()
    if user is None:
        raise CommandError(f"{email} is no user's address.")
    user.sign_out()
    return 1
