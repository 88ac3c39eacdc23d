"""`manage.py export`: all that is stored on a person, for whoever asks for their data."""

import os
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from audit import trail
from audit.models import Kind
from privacy.export import export


class Command(BaseCommand):
    help = "Write all that is stored on a user as JSON, to stdout or to a file of your own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the user's e-mail address")
        parser.add_argument("--output", help="a new file, which only its owner may read (0600)")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            user = User.objects.get(email=options["email"])
            parts = export(user)
        except User.DoesNotExist:  # or no longer: erased meanwhile
            raise CommandError(f"{options['email']} is no user's address.") from None
        trail.record(Kind.DATA_EXPORTED, subject=user)
        if options["output"]:
            write_private(options["output"], parts)
        else:
            self.stdout.write("".join(parts))


def write_private(path: str, parts: Iterable[str]) -> None:
    """Write a new file that nobody but its owner may read; CommandError where there is one."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from None
    with os.fdopen(file, "w", encoding="utf-8") as out:
        out.writelines(parts)
        out.write("\n")
