"""Questions that commands ask at the terminal."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import GetPassWarning

from django.core.management.base import CommandError


@contextmanager
def terminal_prompt() -> Iterator[None]:
    """A context in which a command calls `input` or `getpass`. Raises CommandError without a
    standard input, if `getpass` finds no terminal, and after Ctrl-C or the end of the input that
    the command doesn't catch."""
    no_terminal = CommandError("This command asks a question and needs a terminal.")
    if sys.stdin is None:
        raise no_terminal
    try:
        # getpass warns where it can't hide what is typed; that is an error here.
        with warnings.catch_warnings(action="error", category=GetPassWarning):
            yield
    except GetPassWarning:
        raise no_terminal from None
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")  # ends the line of the question
        raise CommandError("There was no answer. Nothing was done.") from None
