"""`manage.py createkey`: make an operators' API key, which sees all companies."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from api.views import Scope
from apikeys.models import DEFAULT_DAYS, MAX_DAYS, ApiKey
from audit.actors import COMMAND

OPERATORS_SCOPES = [Scope.EVENTS_READ, Scope.USERS_READ]


class Command(BaseCommand):
    help = "Make an API key that reads users or events of all companies. Prints the key alone."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="which program it is for")
        parser.add_argument(
            "--scope",
            action="append",
            dest="scopes",
            required=True,
            choices=[scope.value for scope in OPERATORS_SCOPES],
            help="what it may read; repeat it for both",
        )
        parser.add_argument(
            "--days", type=int, default=DEFAULT_DAYS, help="days for which it works"
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Make a key of the operators, and print it."""
        if not 1 <= options["days"] <= MAX_DAYS:
            raise CommandError(f"--days takes 1 to {MAX_DAYS}.")
        try:
            name = ApiKey._meta.get_field("name").clean(options["name"], None)
        except ValidationError as error:
            raise CommandError(f"name: {' '.join(error.messages)}") from None
        _, key = ApiKey.objects.make(COMMAND, name, options["scopes"], options["days"])
        self.stdout.write(key)
