"""Helpers of the tests of accounts: a terminal, past sign-ins, and commands' output."""

from datetime import timedelta
from io import StringIO

from django.core.management import call_command
from django.utils import timezone

from accounts.models import User


class Terminal(StringIO):
    def isatty(self):
        return True


def signed_in(user, days_ago):
    """Let the user have signed in last so many days ago."""
    at = timezone.now() - timedelta(days=days_ago)
    User.objects.filter(pk=user.pk).update(last_sign_in_at=at)


def run(capsys, *arguments):
    """The output of a command."""
    call_command(*arguments)
    return capsys.readouterr().out
