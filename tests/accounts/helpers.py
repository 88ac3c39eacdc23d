"""What several tests of accounts share."""

from datetime import timedelta
from io import StringIO

from django.core.management import call_command
from django.utils import timezone

from accounts.models import User


class Terminal(StringIO):
    def isatty(self):
        return True


def signed_in(user, days_ago):
    at = timezone.now() - timedelta(days=days_ago)
    User.objects.filter(pk=user.pk).update(last_sign_in_at=at)


def run(capsys, *words):
    call_command(*words)
    return capsys.readouterr().out
