"""`manage.py connections`: list companies' providers, switch one off, or allow it again."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import NotFound

from audit.actors import COMMAND
from sso.models import IdentityProvider


class Command(BaseCommand):
    help = "List companies' own identity providers, switch one off, or allow it again."

    def add_arguments(self, parser: CommandParser) -> None:
        action = parser.add_mutually_exclusive_group()
        stop_help = "nobody signs in there until it is allowed and switched on again"
        action.add_argument("--switch-off", type=UUID, metavar="ID", help=stop_help)
        allow_help = "let the company's admins switch it on again"
        action.add_argument("--allow", type=UUID, metavar="ID", help=allow_help)

    def handle(self, *args: object, **options: Any) -> None:
        pk = options["switch_off"] or options["allow"]
        providers = IdentityProvider.objects.select_related("account")
        if pk is None:
            self.stdout.write("\n".join(map(describe_provider, providers)) or "There are none.")
            return
        try:
            provider = providers.get(pk=pk)
            if options["switch_off"]:
                is_changed, state = provider.stop(COMMAND), "is switched off"
            else:
                is_changed = provider.allow(COMMAND)
                state = "may be switched on again by its admins"
        except (IdentityProvider.DoesNotExist, NotFound):  # unknown, or deleted just now
            raise CommandError(f"No connection has the ID {pk}.") from None
        self.stdout.write(f"{provider.account} {state}{'' if is_changed else ', as before'}.")


def describe_provider(provider: IdentityProvider) -> str:
    """Return one line with the id, company, issuer, state and last problem."""
    state = "required" if provider.required else "on" if provider.active else "off"
    if provider.stopped_at:
        state = "switched off by operators"
    line = f"{provider.pk}  {provider.account}  {provider.issuer}  {state}"
    if time := provider.last_problem_at:
        line += f", last problem: {provider.last_problem} ({time:%Y-%m-%d %H:%M} UTC)"
    return line
