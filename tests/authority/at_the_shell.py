"""The acts of `manage.py`: an operator at the shell is asked for no rights."""

from contextlib import suppress
from io import StringIO

from django.core.management import CommandError, call_command

from tests.authority.acts import CUSTOMERS, Act
from tests.authority.by_token import OTHERS


def run(name, *words, **more):
    """The command, with what it is told of the target."""

    def do(shell, actor, target):
        told = [word.format(target) for word in words]
        with suppress(CommandError):
            call_command(name, *told, stdout=StringIO())

    return Act(name, do, **{"targets": OTHERS} | more)


COMMANDS = {
    act.name: act
    for act in [
        run("changeemail", "{0.email}", "new@example.net"),
        run("changepassword", "{0.email}"),
        run("erase", "{0.email}", "--yes"),
        run("factors", "{0.email}", "--remove"),
        run("signout", "{0.email}"),
        run("unlock", "{0.email}"),
        run("connections", "--switch-off={0.pk}", targets=CUSTOMERS),
        run("apikeys", "--revoke={0.pk}", targets=CUSTOMERS),
        run("invite", "{0.pk}", "new@example.com", targets=CUSTOMERS),
        run("deletecompany", "{0.pk}", "--yes", targets=CUSTOMERS, never={"operators"}),
    ]
}
# What reads, what adds a user or a company, and what acts on all alike.
OF_NOBODY = {"afterrestore", "createkey", "createcompany", "createsuperuser", "export", "listkeys"}
OF_NOBODY |= {"locks", "networklimit", "prune", "roles", "rotatekey", "runworker", "status"}
OF_NOBODY |= {"withdrawkey"}
