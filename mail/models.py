"""The models of the app, each of which stands in the file of its noun."""

from mail.budget import MailBudget
from mail.heartbeat import Heartbeat
from mail.outbox import OutgoingMail
from mail.tally import MailTally

__all__ = ["Heartbeat", "MailBudget", "MailTally", "OutgoingMail"]
