"""Imports the app's models, each of which has a module of its own."""

from mail.budget import MailBudget
from mail.outbox import OutgoingMail

__all__ = ["MailBudget", "OutgoingMail"]
