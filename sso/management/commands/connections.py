"""`manage.py connections`: list companies' providers, switch one off, or allow it again."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.actors import COMMAND
from sso.models import IdentityProvider


class Command(BaseCommand):
    help = "List companies' own identity providers, switch one off, or allow it again."

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        off = "nobody signs in there until it is allowed and switched on again"
        which.add_argument("--switch-off", type=UUID, metavar="ID", help=off)
        on = "let the company's admins switch it on again"
        which.add_argument("--allow", type=UUID, metavar="ID", help=on)

    def handle(self, *args: object, **options: Any) -> None:
        pk = options["switch_off"] or options["allow"]
        providers = IdentityProvider.objects.select_related("account")
        if pk is None:
            self.stdout.write("\n".join(map(describe, providers)) or "There are none.")
            return
        provider = providers.filter(pk=pk).first()
        if provider is None:
            raise CommandError(f"No connection has the ID {pk}.")
        if options["switch_off"]:
            done, said = provider.stop(COMMAND), "is switched off"
        else:
            done, said = provider.allow(COMMAND), "may be switched on again by its admins"
        self.stdout.write(f"{provider.account} {said}{'' if done else ', as before'}.")


def describe(provider: IdentityProvider) -> str:
    """One line: ID, company, issuer, state, last problem."""
    state = "required" if provider.required else "on" if provider.active else "off"
    if provider.stopped_at:
        state = "switched off by operators"
    line = f"{provider.pk}  {provider.account}  {provider.issuer}  {state}"
    if at := provider.last_problem_at:
        line += f", last problem: {provider.last_problem} ({at:%Y-%m-%d %H:%M} UTC)"
    return line
