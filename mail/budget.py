"""MailBudget: how many mails were asked for in a while, counted exactly."""

from audit.budget import DAY, HOUR, Budget

__all__ = ["DAY", "HOUR", "MailBudget"]


class MailBudget(Budget):
    """The mails of one kind to one address, or of one company, in the present window."""
