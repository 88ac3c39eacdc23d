"""`manage.py sendmail`: the name of `runworker` in 1.0.0, until 3.0."""

from mail.management.commands.runworker import Command

__all__ = ["Command"]
