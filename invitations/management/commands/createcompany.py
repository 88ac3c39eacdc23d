"""`manage.py createcompany`: create a company, and invite its first admin."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

import audit
from accounts.models import Account, Role, User
from audit.actors import COMMAND
from audit.models import Kind
from base.emails import canonical_email
from invitations.management.commands.invite import add_mail_arguments
from invitations.models import Invitation


class Command(BaseCommand):
    help = "Create a company, and invite its first admin by e-mail."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the company's name")
        parser.add_argument("email", help="the admin's e-mail address")
        add_mail_arguments(parser)

    def handle(self, *args: object, **options: Any) -> None:
        account = Account(name=options["name"].strip())
        invitation = Invitation(
            account=account,
            email=options["email"].strip(),
            role=Role.ADMIN,
            language=options["language"],
        )
        try:
            account.full_clean()
            invitation.clean_fields(exclude=["account"])
        except ValidationError as error:
            messages = (f"{name}: {' '.join(texts)}" for name, texts in error.message_dict.items())
            raise CommandError(" ".join(messages)) from None
        if User.objects.filter(email=invitation.email).exists():
            raise CommandError(f"{invitation.email} is already registered.")
        with transaction.atomic():
            account.save()
            audit.record(
                Kind.COMPANY_CREATED,
                subject=canonical_email(invitation.email),
                account_id=account.pk,
                name=account.name,
            )
            invitation.send(COMMAND)
        if options["json"]:
            ids = {"account_id": str(account.pk), "invitation_id": str(invitation.pk)}
            self.stdout.write(json.dumps(ids))
        else:
            self.stdout.write(f"Created {account.name}; invited {invitation.email} as its admin.")
