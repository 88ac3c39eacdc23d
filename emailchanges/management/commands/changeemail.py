"""`manage.py changeemail`: change a user's e-mail address."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import EmailTaken
from accounts.models import User
from emailchanges.models import change_by_operator


class Command(BaseCommand):
    help = "Give a user another e-mail address; both addresses are mailed what was done."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("old", help="the user's e-mail address")
        parser.add_argument("new", help="the address that it is to be")

    def handle(self, *args: object, **options: Any) -> None:
        user = User.objects.filter(email=options["old"]).first()
        if user is None:
            raise CommandError(f"{options['old']} is no user's address.")
        try:
            change_by_operator(user, options["new"], actor=None)
        except ValidationError:
            raise CommandError(f"{options['new']} is no e-mail address.") from None
        except EmailTaken as error:
            raise CommandError(f"{options['new']}: {error.detail}.") from None
        email = User.objects.get(pk=user.pk).email
        self.stdout.write(f"{user.email} is {email} now; both have been written to.")
