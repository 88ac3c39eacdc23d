"""The caller: who sent the current request, or ran the command, and from where."""

import getpass
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and from where: the address (for IPv6 its /64 network), user agent and request id;
    of a command, its name and the shell user.

    `through` names the app that acts for the caller, if one does, and `claims` what that app says
    about itself, unverified. Audit events keep both in their detail.
    """

    address: str = ""
    agent: str = ""
    request_id: str = ""
    shell_user: str = ""
    through: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The caller that was stored as JSON, without fields that this release does not know."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


def network_of(address: str) -> str:
    """The network to name to people: the /24 of an IPv4 address; IPv6 is already a /64."""
    try:
        return str(ip_network(f"{address}/24" if "/" not in address else address, strict=False))
    except ValueError:
        return ""


def command_caller() -> Caller:
    """The caller of work outside a request: `manage.py unlock`, without its arguments."""
    program = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    return Caller(agent=program, shell_user=shell_user())


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


PROCESS_CALLER = command_caller()

current_caller: ContextVar[Caller] = ContextVar("caller", default=PROCESS_CALLER)
