"""Where the current work comes from: a request, or a command."""

import getpass
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

LONGEST_CLAIM = 100  # characters


def printable(text: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, without control characters."""
    return "".join(c for c in text[: 2 * longest] if c.isprintable())[:longest]


@dataclass(frozen=True, slots=True)
class Origin:
    """The caller's address (an IPv6 one as its /64), the program it names, and the request's id;
    of a command its name, and who ran it.

    `through` says what acts for the caller, where something does, and `claims` what that says of
    itself, which nobody has checked; records have both in their detail.
    """

    address: str = ""
    agent: str = ""
    request_id: str = ""
    shell_user: str = ""
    through: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """The origin that was stored as JSON; what another release knows more of stays out."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    def bounded(self) -> Self:
        """The same with no more than LONGEST_CLAIM printable characters of each claim: the form in
        which it may be stored."""
        claims = {
            name: printable(text, LONGEST_CLAIM) for name, text in self.claims.items() if text
        }
        return replace(self, agent=printable(self.agent, LONGEST_CLAIM), claims=claims)


def command() -> Origin:
    """The program that runs outside a request: `manage.py unlock`, without its arguments."""
    program = printable(" ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]), 60)
    return Origin(agent=program, shell_user=printable(shell_user(), 64))


def shell_user() -> str:
    """Who is at the shell: who called sudo, else who logged in, else the process's owner."""
    if name := os.environ.get("SUDO_USER"):
        return name
    try:
        return os.getlogin()
    except OSError:  # no terminal: cron, systemd
        pass
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number that has no name
        return str(os.getuid())


PROGRAM = command()

current: ContextVar[Origin] = ContextVar("origin", default=PROGRAM)
