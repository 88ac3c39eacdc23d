"""Imports the app's models, which stand in mail.budget and mail.outbox."""

from mail.budget import MailBudget
from mail.outbox import OutgoingMail

__all__ = ["MailBudget", "OutgoingMail"]
