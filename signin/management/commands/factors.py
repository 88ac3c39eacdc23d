"""`manage.py factors`: list or remove a user's second factors."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import NotFound

from accounts.errors import LastBreakGlassAdmin
from accounts.models import User
from audit.actors import COMMAND
from signin.factors.models import Factors


class Command(BaseCommand):
    help = "List a user's second factors, or remove them all."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the user's e-mail address")
        parser.add_argument(
            "--remove",
            action="store_true",
            help="remove the second factors and the recovery codes, end all sessions, connected "
            "apps and mailed links, and notify the user, if the user has a second factor",
        )

    def handle(self, *args: object, **options: Any) -> None:
        user = User.objects.filter(email=options["email"]).first()
        if user is None:
            raise CommandError(f"No user has the address {options['email']}.")
        factors = Factors.objects.filter(user=user).first()
        if factors is None:
            self.stdout.write(f"{user.email} has no second factor.")
            return
        for factor in factors.app_and_passkeys():
            used_at = factor.last_used_at
            use = f"last used {used_at:%Y-%m-%d %H:%M} UTC" if used_at else "never used"
            self.stdout.write(" ".join(filter(None, [factor.kind, factor.name])) + f", {use}")
        self.stdout.write(f"recovery codes left: {factors.recovery_codes.count()}")
        if options["remove"]:
            try:
                Factors.objects.reset(user, COMMAND)
            except LastBreakGlassAdmin as error:
                raise CommandError(f"{user.email}: {error.detail}. {error.advice}") from None
            except (NotFound, PermissionDenied):
                raise CommandError(f"{user.email} was erased just now.") from None
            self.stdout.write("Removed.")
