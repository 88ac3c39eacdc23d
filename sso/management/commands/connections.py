"""`manage.py connections`: list companies' providers, switch one off, or allow it again."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Connection
from audit.actors import COMMAND


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
        connections = Connection.objects.select_related("account")
        if pk is None:
            self.stdout.write("\n".join(map(describe, connections)) or "There are none.")
            return
        connection = connections.filter(pk=pk).first()
        if connection is None:
            raise CommandError(f"No connection has the ID {pk}.")
        if options["switch_off"]:
            done, said = connection.stop(COMMAND), "is switched off"
        else:
            done, said = connection.allow(COMMAND), "may be switched on again by its admins"
        self.stdout.write(f"{connection.account} {said}{'' if done else ', as before'}.")


def describe(connection: Connection) -> str:
    """One line: ID, company, issuer, state, last problem."""
    state = "required" if connection.required else "on" if connection.active else "off"
    if connection.stopped_at:
        state = "switched off by operators"
    line = f"{connection.pk}  {connection.account}  {connection.issuer}  {state}"
    if at := connection.last_problem_at:
        line += f", last problem: {connection.last_problem} ({at:%Y-%m-%d %H:%M} UTC)"
    return line
