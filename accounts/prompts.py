"""What holds for every command that asks a question."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError


@contextmanager
def prompting() -> Iterator[None]:
    """Around a prompt: CommandError where no terminal answers it."""
    if sys.stdin is None:
        raise CommandError("This command asks a question, so it needs a terminal.")
    try:
        yield
    except EOFError:
        raise CommandError("There was no answer, so nothing was done.") from None
