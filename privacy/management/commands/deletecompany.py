"""`manage.py deletecompany`: a company goes for good, with everybody in it."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Account
from privacy.erasure import delete_company


class Command(BaseCommand):
    help = "Delete a company and erase everybody in it, its consultants and its invitations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=UUID, help="the company's id")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: object, **options: Any) -> None:
        account = Account.objects.filter(pk=options["id"]).first()
        if account is None:
            raise CommandError(f"No company has the id {options['id']}.")
        people = account.users.count()
        asked = f"Erase {account.name} and {people} people for good? Type the company's name: "
        if not options["yes"] and input(asked).strip() != account.name:
            raise CommandError("Nothing was deleted.")
        try:
            number = delete_company(account, actor=None)
        except PermissionDenied as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Deleted, with {number} people.")
