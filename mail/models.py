"""The models of the app, each of which stands in the file of its noun."""

from mail.budget import MailBudget
from mail.outbox import OutgoingMail
from mail.tally import MailTally

__all__ = ["MailBudget", "MailTally", "OutgoingMail"]
