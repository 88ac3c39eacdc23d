"""What is forgotten when: ended links, settled mails, old counts of failures and audit records."""

from django.apps import apps

from accounts.mail.budget import MailBudget
from accounts.mail.links import EmailedLink
from accounts.mail.outbox import OutgoingMail
from audit.models import Record
from throttling.models import Lockout


def prune() -> dict[str, int]:
    """Delete all that is past its keeping time, in batches; how many of which."""
    deleted: dict[str, int] = {
        str(model._meta.verbose_name_plural): model.objects.prune()
        for model in apps.get_models()
        if issubclass(model, EmailedLink)
    }
    deleted["outgoing mails"] = OutgoingMail.objects.prune()
    deleted["mail budgets"] = MailBudget.objects.prune()
    deleted["lockouts"] = Lockout.objects.prune()
    deleted["audit records"] = Record.objects.prune_old()
    return deleted
