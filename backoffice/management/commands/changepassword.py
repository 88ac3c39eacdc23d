"""`manage.py changepassword ada@example.com`: set a user's password at a prompt."""

import getpass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

import audit
from accounts.models import User, next_token_version
from accounts.prompts import terminal_prompt
from audit.models import Kind
from mail.links import EmailedLink


class Command(BaseCommand):
    help = "Set a user's password at a prompt, end their sessions and links, and notify them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the user's e-mail address")

    def handle(self, *args: object, **options: Any) -> None:
        """Set the user's password, which the operator types twice; end the user's sessions and
        links, record that and mail the user. Raises CommandError for an unknown address, different
        or refused passwords, without a terminal or an answer, and if the user is erased or gets
        another address meanwhile."""
        users = User.objects.filter(email=options["email"])
        user = users.first()
        if user is None:
            raise CommandError(f"No user has the address {options['email']}.")
        with terminal_prompt():  # outside the transaction, which on SQLite stops all other writers
            password, repetition = getpass.getpass(), getpass.getpass("Password (again): ")
        if password != repetition:
            raise CommandError("The passwords differ. Nothing was changed.")
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError("\n".join(error.messages)) from None
        changes = {"password": make_password(password), "token_version": next_token_version()}
        with transaction.atomic():
            # An UPDATE of these columns only keeps what other requests have changed meanwhile.
            if not users.filter(pk=user.pk).update(**changes):
                raise CommandError("The user was erased, or has another address now.")
            EmailedLink.end_all_of(user.pk)
            audit.record(Kind.PASSWORD_CHANGED, subject=user)
            user.send_notice("password_changed", operator=True)
        self.stdout.write(f"The password of {user.email} was changed.")
