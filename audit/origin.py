"""Where the work in hand comes from: the request that asked for it, or a command."""

import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

LONGEST_AGENT = 200  # characters


def printable(text: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, without control characters."""
    return "".join(c for c in text[: 2 * longest] if c.isprintable())[:longest]


@dataclass(frozen=True, slots=True)
class Origin:
    """The caller's address (an IPv6 one as its /64), the program it names, and the request's id.

    `through` says what acts for the caller, where something does; records have it in their detail.
    """

    address: str = ""
    agent: str = ""
    request_id: str = ""
    through: Mapping[str, str] = field(default_factory=dict)


def command() -> Origin:
    """The program that runs, when no request does: `manage.py unlock`. Its arguments stay out."""
    return Origin(agent=printable(" ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]), 60))


PROGRAM = command()

current: ContextVar[Origin] = ContextVar("origin", default=PROGRAM)
