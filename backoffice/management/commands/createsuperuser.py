"""`manage.py createsuperuser`: Django's command, which fails without a terminal (Django's exits
with 0), and closes invitations to the address."""

from contextlib import nullcontext
from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError
from django.db import transaction

from accounts.models import User
from accounts.prompts import terminal_prompt
from audit.actors import COMMAND
from invitations.models import Invitation


class Command(createsuperuser.Command):
    def handle(self, *args: object, **options: Any) -> None:
        """Create the superuser, and revoke their company's open invitations to the address. Raises
        CommandError without a terminal, unless `--noinput` is passed, and for invalid values."""
        if options["interactive"] and not (self.stdin and self.stdin.isatty()):
            conditions = (
                "a terminal, or DJANGO_SUPERUSER_EMAIL, DJANGO_SUPERUSER_PASSWORD and --noinput"
            )
            raise CommandError(f"This command needs {conditions}.")
        with terminal_prompt() if options["interactive"] else nullcontext():
            super().handle(*args, **options)
        user = User.objects.filter(is_superuser=True).latest("created_at")  # the one just created
        with transaction.atomic():
            Invitation.objects.close_for(user, COMMAND)
