"""`manage.py export`: write all data about a user, for a data request."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.utils.encoders import JSONEncoder

from accounts.models import User
from audit.actors import COMMAND
from privacy.export import export_user


class Command(BaseCommand):
    help = "Write all stored data about a user, as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the user's e-mail address")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            user = User.objects.get(email=options["email"])
            export = export_user(user, COMMAND)
            while export["next"]:
                page = export_user(user, COMMAND, export["next"])
                export |= {"trail": export["trail"] + page["trail"], "next": page["next"]}
        except User.DoesNotExist:  # or no longer: erased meanwhile
            raise CommandError(f"No user has the address {options['email']}.") from None
        self.stdout.write(json.dumps(export, ensure_ascii=False, cls=JSONEncoder))
