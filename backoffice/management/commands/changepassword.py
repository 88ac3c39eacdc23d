"""`manage.py changepassword`: Django's, which also notifies the user."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db import transaction

from accounts.models import User
from accounts.prompts import prompting
from audit import trail
from audit.models import Kind
from mail.links import EmailedLink


class Command(changepassword.Command):
    help = "Set a user's password at a prompt, end every session and link, and notify the user."

    def handle(self, *args: object, **options: Any) -> str | None:
        with prompting(), transaction.atomic():
            said = super().handle(*args, **options)
            user = User.objects.get(email=options["username"])
            EmailedLink.end_all_of(user.pk)
            trail.record(Kind.PASSWORD_CHANGED, subject=user)
            user.send_notice("password_changed", operator=True)
        return said
