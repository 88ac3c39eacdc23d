"""`manage.py invite`: invite a user into a company."""

import json
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import NotFound

from accounts.models import Account, Role
from audit.actors import COMMAND
from base.text import unicode_forms
from invitations.errors import InvitationRefused
from invitations.models import Invitation


class Command(BaseCommand):
    help = "Invite someone to a company by e-mail."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("company", help="the company's id, or its name if no other has it")
        parser.add_argument("email", help="the e-mail address to invite")
        parser.add_argument(
            "--role", choices=Role.values, default=Role.MEMBER, help="by default member"
        )
        add_mail_arguments(parser)

    def handle(self, *args: object, **options: Any) -> None:
        invitation = Invitation(
            account=find_company_by_id_or_name(options["company"]),
            email=options["email"].strip(),
            role=options["role"],
            language=options["language"],
        )
        try:
            invitation.clean_fields()
            invitation.send(COMMAND)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        except InvitationRefused as error:
            raise CommandError(f"{invitation.email}: {error.detail}.") from None
        except NotFound:
            raise CommandError(f"{invitation.account} was deleted just now.") from None
        if options["json"]:
            self.stdout.write(json.dumps({"invitation_id": str(invitation.pk)}))
        else:
            self.stdout.write(f"Invited {invitation.email} to {invitation.account}.")


def add_mail_arguments(parser: CommandParser) -> None:
    """Add the options that `createcompany` also has: the mail's language, and a report as JSON."""
    languages = [code for code, _ in settings.LANGUAGES]
    parser.add_argument("--language", choices=languages, default="en", help="language of the mail")
    parser.add_argument("--json", action="store_true", help="report as JSON")


def find_company_by_id_or_name(text: str) -> Account:
    """The one company with this id or name. Raises CommandError unless there is exactly one."""
    try:
        accounts = Account.objects.filter(pk=UUID(text))
    except ValueError:
        accounts = Account.objects.filter(name__in=unicode_forms(text))
    try:
        return accounts.get()
    except Account.DoesNotExist:
        raise CommandError(f"No company has the name or id {text}.") from None
    except Account.MultipleObjectsReturned:
        raise CommandError(f"Several companies are named {text}. Give the id instead.") from None
