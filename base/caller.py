"""`current_caller`: who sent the current request or runs the current command, and from where."""

import getpass
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Self

# Parts of a User-Agent header, and the names that people know them by. The first match counts,
# since most browsers also name older ones. Safari's own part may be missing: earlier releases kept
# only a header's beginning in the audit log.
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "FxiOS/": "Firefox"}
BROWSERS |= {"CriOS/": "Chrome", "Chrome/": "Chrome", "Safari/": "Safari"}
BROWSERS |= {"AppleWebKit/605": "Safari", "curl/": "curl"}
SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iOS", "iPad": "iPadOS"}
SYSTEMS |= {"Mac OS X": "macOS", "CrOS": "ChromeOS", "Linux": "Linux"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and from where. A command has its name as the agent, and the shell user. If a
    connected app acts for the user, `through` names the app for the audit log, and `claims` is what
    the app says about itself, which is unverified."""

    address: str = ""  # of IPv6 the /64 network
    agent: str = ""
    request_id: str = ""
    shell_user: str = ""
    through: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """The caller from its fields as JSON, of which a host of the next release may have more."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in members.items() if name in names})


def network_of(address: str) -> str:
    """The network that users are shown for the `address` of a Caller: the /24 of an IPv4 address;
    an IPv6 /64, as it is. "" for anything else, such as "unknown"."""
    try:
        return str(ip_network(address if "/" in address else f"{address}/24", strict=False))
    except ValueError:
        return ""


def browser_and_system(agent: str) -> list[str]:
    """The browser and system of a User-Agent header: ["Firefox", "Windows"]; each "" if unknown."""
    tables = (BROWSERS, SYSTEMS)
    return [next((names[mark] for mark in names if mark in agent), "") for names in tables]


def command_caller() -> Caller:
    """The caller of work outside a request, such as `manage.py unlock`."""
    program = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    return Caller(agent=program, shell_user=shell_user())


def shell_user() -> str:
    """The name of the user who called sudo, or else who logged in at the terminal, or else of the
    process's user, by `getpass`; the number of the process's user if none has a name."""
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
