"""`manage.py deletecompany`: delete a company and erase its users."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Account
from accounts.prompts import terminal_prompt
from privacy.management.commands.erase import show_progress
from privacy.models import Erasure


class Command(BaseCommand):
    help = "Delete a company, and erase its users, consultants and invitations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=UUID, help="the company's id")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: object, **options: Any) -> None:
        account = Account.objects.filter(pk=options["id"]).first()
        if account is None:
            raise CommandError(f"No company has the id {options['id']}.")
        if account.is_operators:
            raise CommandError("The operators' company cannot be deleted.")
        people = account.users.count()
        asked = f"Erase {account.name} and its {people} users for good? Type the company's name: "
        with terminal_prompt():
            if not options["yes"] and input(asked).strip() != account.name:
                raise CommandError("Nothing was deleted.")
        Erasure.objects.delete_company(account, actor=None)
        self.stdout.write("Its users can no longer sign in.")
        show_progress(self.stdout)
