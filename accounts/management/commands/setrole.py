"""`manage.py setrole`: make a user an admin of their company, or a member."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import LastAdmin
from accounts.models import Role, User


class Command(BaseCommand):
    help = "Make a user an admin of their company, or a member; a company keeps one admin."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the user's e-mail address")
        parser.add_argument("role", choices=Role.values)

    def handle(self, *args: object, **options: Any) -> None:
        email, role = options["email"], options["role"]
        user = User.objects.filter(email=email).first()
        if user is None:
            raise CommandError(f"{email} is no user's address.")
        try:
            _, revoked = user.update_role_or_active(None, role=role)
        except LastAdmin as error:
            raise CommandError(f"{user.email}: {error.detail}.") from None
        self.stdout.write(f"{user.email} is {role} of {user.account}")
        if revoked:
            self.stdout.write(f"Revoked, since they had sent them: {', '.join(revoked)}")
