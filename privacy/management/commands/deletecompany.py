"""`manage.py deletecompany`: delete a company and erase its users."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from accounts.models import Account, Role
from accounts.prompts import terminal_prompt
from audit.actors import COMMAND
from base.text import typed_form, unicode_forms
from privacy.management.commands.erase import finish_erasure
from privacy.models import Erasure


class Command(BaseCommand):
    help = "Delete a company, and erase its users, consultants and invitations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("company", help="the company's id or name, or an admin's address")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            matches = Account.objects.filter(pk=UUID(options["company"]))
        except ValueError:
            of_admin = Q(users__email=options["company"], users__role=Role.ADMIN)
            is_named = Q(name__in=unicode_forms(options["company"]))
            matches = Account.objects.filter(is_named | of_admin).distinct()
        if len(matches) != 1:
            ids = ", ".join(str(account.pk) for account in matches) or "none"
            raise CommandError(f"No company, or not only one, is called that: {ids}.")
        account = matches[0]
        if account.is_operators:
            raise CommandError("The operators' company cannot be deleted.")
        user_count = account.users.count()
        prompt = (
            f"Erase {account.name} and its {user_count} users for good? Type the company's name: "
        )
        with terminal_prompt():
            if not options["yes"] and typed_form(input(prompt)) != typed_form(account.name):
                raise CommandError("Nothing was deleted.")
        try:
            erasure = Erasure.objects.delete_company(account, COMMAND)
        except Account.DoesNotExist:
            raise CommandError("The company was erased meanwhile.") from None
        self.stdout.write("Its users can no longer sign in.")
        finish_erasure(erasure, self.stdout)
