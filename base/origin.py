"""The origin of the current work: a request or a command."""

import getpass
import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Self

LONGEST_CLAIM, LONGEST_TEXT = 100, 254  # characters of a client's claim, and of any other text


def printable_text(text: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, without control characters."""
    return "".join(c for c in text[: 2 * longest] if c.isprintable())[:longest]


def map_texts(change: Callable[[str], str], value: Any) -> Any:
    """The value of a JSON document, with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: map_texts(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(change, part) for part in value]
    return value


@dataclass(frozen=True, slots=True)
class Origin:
    """The caller's address (for IPv6 its /64 network), user agent and request id; for a command its
    name and the shell user.

    `through` names the app that acts for the caller, if one does, and `claims` what that app says
    about itself, unverified. Records keep both in their detail.
    """

    address: str = ""
    agent: str = ""
    request_id: str = ""
    shell_user: str = ""
    through: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The origin that was stored as JSON, without fields that this release does not know."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    def for_storage(self) -> Self:
        """The origin in the form in which it may be stored: LONGEST_CLAIM printable characters of
        each claim at most."""
        claims = {
            name: printable_text(text, LONGEST_CLAIM) for name, text in self.claims.items() if text
        }
        return replace(self, agent=printable_text(self.agent, LONGEST_CLAIM), claims=claims)


def network_of(address: str) -> str:
    """The network to name to people: the /24 of an IPv4 address; IPv6 is already a /64."""
    try:
        return str(ip_network(f"{address}/24" if "/" not in address else address, strict=False))
    except ValueError:
        return ""


def command_origin() -> Origin:
    """The origin of work outside a request: `manage.py unlock`, without its arguments."""
    program = printable_text(" ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]), 60)
    return Origin(agent=program, shell_user=printable_text(shell_user(), 64))


def shell_user() -> str:
    """The shell user: who called sudo, else who logged in, else the process's owner."""
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


PROGRAM = command_origin()

current: ContextVar[Origin] = ContextVar("origin", default=PROGRAM)
