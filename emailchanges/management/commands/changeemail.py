"""`manage.py changeemail`: change a user's e-mail address."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import EmailTaken
from accounts.models import User
from audit.actors import COMMAND
from base.emails import new_email


class Command(BaseCommand):
    help = "Change a user's e-mail address, end all sessions and links, and notify both addresses."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("old", help="the user's e-mail address")
        parser.add_argument("new", help="the new e-mail address")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            user = User.objects.get(email=options["old"])
            old_email = user.email
            is_changed = user.change_address(COMMAND, new_email(options["new"]))
        except User.DoesNotExist:  # or it was erased just now
            raise CommandError(f"No user has the address {options['old']}.") from None
        except ValidationError:
            raise CommandError(f"{options['new']} is not a valid e-mail address.") from None
        except EmailTaken as error:
            raise CommandError(f"{options['new']}: {error.detail}.") from None
        if not is_changed:
            raise CommandError(f"{user.email} is the user's address already.")
        self.stdout.write(f"Changed {old_email} to {user.email}; both addresses were notified.")
