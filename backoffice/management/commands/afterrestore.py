"""`manage.py afterrestore`: end the sessions, links and API keys that a backup brought back."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

import audit
from accounts.models import User
from accounts.prompts import terminal_prompt
from apikeys.models import ApiKey
from assistants.models import Grant
from audit.models import Kind
from keys.models import SigningKey
from mail.links import EmailedLink

END_QUESTION = "End every session, mailed link, API key and connected app in this database? [y/N] "
KEYS_QUESTION = "Replace the signing keys? The backup restored any that were withdrawn. [y/N] "


class Command(BaseCommand):
    help = (
        "After restoring a backup: end every session, mailed link, API key and connected app, "
        "since the backup brings back those that had ended."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument(
            "--replace-keys",
            action="store_true",
            help="replace every signing key, since the backup brings back withdrawn ones",
        )

    def handle(self, *args: object, **options: Any) -> None:
        """End every session, mailed link, API key and connected app, and replace the signing keys
        with `--replace-keys` or if the operator agrees. Without `--yes`, raises CommandError if the
        operator does not confirm the end, or can't be asked."""
        replaces_keys = options["replace_keys"]
        if not options["yes"]:
            if not is_confirmed(END_QUESTION):
                raise CommandError("Nothing was ended.")
            replaces_keys = replaces_keys or is_confirmed(KEYS_QUESTION)
        counts = end_everything()
        if replaces_keys:
            keys = SigningKey.objects.all()
            SigningKey.objects.withdraw(*keys.values_list("kid", flat=True))  # makes a new one
        self.stdout.write("\n".join(f"{name}: {count} ended" for name, count in counts.items()))


def is_confirmed(question: str) -> bool:
    """Whether the operator answers with "y" or "yes". Raises CommandError without a terminal."""
    with terminal_prompt():
        return input(question).strip().lower() in {"y", "yes"}


def end_everything() -> dict[str, int]:
    """End all live mailed links, API keys, connected apps and users' sessions, and record this, in
    one transaction. Returns how many of each were ended, by their name in the plural (of sessions,
    the number of users)."""
    models: list[Any] = [*EmailedLink.models_by_label().values(), ApiKey, Grant]
    with transaction.atomic():
        counts = {
            str(model._meta.verbose_name_plural): model._default_manager.end_all()
            for model in models
        }
        counts["users' sessions"] = User.objects.sign_out()  # last: it also ends connected apps
        audit.record(Kind.RESTORED, subject="everybody", **counts)
    return counts
