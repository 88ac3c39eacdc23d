"""`manage.py erase`: erase a user."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from rest_framework.exceptions import NotFound

from accounts.errors import LastAdmin
from accounts.models import User
from accounts.prompts import terminal_prompt
from audit.actors import COMMAND
from base.emails import canonical_or_lower
from privacy.models import Erasure


class Command(BaseCommand):
    help = "Erase a user and all data about them. The audit log keeps a pseudonym."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the user's e-mail address")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            user = User.objects.get(email=options["email"])
            prompt = f"Erase {user} ({user.role} of {user.account}) for good? Type the address: "
            with terminal_prompt():
                if not options["yes"] and canonical_or_lower(input(prompt)) != user.email:
                    raise CommandError("Nothing was erased.")
            erasure = Erasure.objects.erase_user(user, COMMAND)
        except (User.DoesNotExist, NotFound):  # or no longer
            raise CommandError(f"No user has the address {options['email']}.") from None
        except LastAdmin as error:
            raise CommandError(f"{user.email}: {error.detail}. {error.advice}") from None
        finish_erasure(erasure, self.stdout)
        self.stdout.write(f"Erased. The audit log now says {erasure}.")


def finish_erasure(erasure: Erasure, out: OutputWrapper) -> None:
    """Process the erasure here, instead of in the worker, and print the progress after each batch.
    After Ctrl-C the worker goes on with it. Raises CommandError if a batch fails."""
    total = 0
    try:
        while count := erasure.process_batch():
            total += count
            out.write(f"{total} users and events processed.")
    except Exception as error:
        failure = f"Sign-in has ended, but erasing {erasure} failed: {type(error).__name__}."
        raise CommandError(f"{failure} The worker tries again.") from error
