"""The models of the app, each of which stands in the file of its noun."""

from mail.budget import MailBudget
from mail.heartbeat import Heartbeat
from mail.outbox import OutgoingMail

__all__ = ["Heartbeat", "MailBudget", "OutgoingMail"]
