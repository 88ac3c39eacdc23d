"""`manage.py createcompany`: a company with its first admin."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction

from accounts.models import Account, Role, User
from audit import trail
from audit.models import Kind
from passwords.models import PasswordChange


class Command(BaseCommand):
    help = "Make a company and its admin, who is mailed a link to set a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the company's name")
        parser.add_argument("email", help="the admin's e-mail address")
        parser.add_argument("--first-name", default="")
        parser.add_argument("--last-name", default="")
        parser.add_argument("--language", default="en", help="the admin's: en, sv or de")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        account = Account(name=options["name"].strip())
        names = ("email", "first_name", "last_name", "language")
        admin = User(
            account=account, role=Role.ADMIN, **{name: options[name].strip() for name in names}
        )
        admin.set_unusable_password()
        try:
            account.full_clean()
            admin.clean_fields(exclude=["account", "password"])
            create(account, admin)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        except IntegrityError:
            raise CommandError(f"{admin.email} is registered already.") from None
        if options["json"]:
            self.stdout.write(json.dumps({"account_id": str(account.pk), "user_id": str(admin.pk)}))
        else:
            self.stdout.write(f"{account.name} ({account.pk}) has {admin.email} as its admin")


def create(account: Account, admin: User) -> None:
    with transaction.atomic():
        account.save()
        admin.save(force_insert=True)
        trail.record(
            Kind.COMPANY_CREATED, subject=admin.email, account_id=account.pk, name=account.name
        )
        PasswordChange.objects.request(admin.email, admin.language)
