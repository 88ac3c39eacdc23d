"""All that is stored on a person, as JSON: for themselves, and for whoever answers them by law."""

from collections.abc import Iterable

from django.db.models import Model, Q, QuerySet

from accounts.models import Consultant, User
from assistants.models import Grant
from audit.models import Record
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from privacy.erasure import emails_ever_of
from signin.factors.models import Factors, Passkey
from signin.models import SignupLink, UnlockLink
from throttling.models import Lockout

LINK = ["email", "language", "created_at", "expires_at", "used_at"]
TRAIL = ["at", "kind", "actor_email", "subject", "address", "agent", "request_id", "detail"]

GRANT = ["created_at", "redeemed_at", "used_at", "used_from", "ended_at"]
PROFILE = ["id", "email", "first_name", "last_name", "role", "language", "is_active", "is_staff"]
PROFILE += ["is_superuser", "created_at", "signed_in_at", "account_id", "account__name"]

# What is exported of each model. That no field which points to a person is missing, a test sees to.
FIELDS: dict[type[Model], list[str]] = {
    User: PROFILE,
    Consultant: ["id", "name", "account_id", "user_id", "manager_id"],
    Grant: ["client__name", "redirect_uri", *GRANT],
    PasswordChange: LINK,
    UnlockLink: [*LINK, "network", "locked_at"],
    EmailChange: [*LINK, "old_email"],
    UndoEmailChange: [*LINK, "new_email"],
    SignupLink: LINK,
    Invitation: [*LINK, "role", "account__name", "revoked_at", "invited_by_id"],
    OutgoingMail: ["kind", "email", "language", "state", "created_at", "sent_at", "origin"],
    Factors: ["totp_name", "totp_added_at", "totp_used_at"],
    Passkey: ["name", "created_at", "last_used_at"],
    Lockout: ["email", "device", "failures", "failed_at", "locked_until", "refusals"],
    Record: TRAIL,
}


def rows(found: QuerySet) -> list[dict[str, object]]:
    return list(found.order_by("pk").values(*FIELDS[found.model]))


def of_emails(
    models: Iterable[type[Model]], emails: list[str]
) -> dict[str, list[dict[str, object]]]:
    """The rows of these models that bear one of the addresses."""
    return {
        str(model._meta.verbose_name_plural): rows(model._default_manager.filter(email__in=emails))
        for model in models
    }


def export(user: User) -> dict[str, object]:
    """The person's data, by what it is, also under addresses that they had before.
    User.DoesNotExist for somebody who has been erased.

    Of e-mail changes only those that were made: the worker makes a link, and drops a mail, by
    whether the new address is taken, which is nobody's business. The log has what was asked for.
    """
    own, (emails, _) = {"user": user}, emails_ever_of(user)
    by_or_about = Q(actor_id=user.pk) | Q(subject__in=emails)
    links = [SignupLink, Invitation]
    theirs = [PasswordChange, UnlockLink, UndoEmailChange]
    changes = EmailChange.objects.filter(user=user, used_at__isnull=False)
    mails = OutgoingMail.objects.filter(email__in=emails)
    return {
        "profile": User.objects.values(*PROFILE).get(pk=user.pk),
        "consultant": rows(Consultant.objects.filter(user=user)),
        "manages": rows(Consultant.objects.filter(manager=user)),
        "assistants": rows(Grant.objects.filter(**own)),
        "links": of_emails(links, emails)
        | {str(m._meta.verbose_name_plural): rows(m._default_manager.filter(**own)) for m in theirs}
        | {str(EmailChange._meta.verbose_name_plural): rows(changes)},
        "authenticator_apps": rows(Factors.objects.filter(**own, totp_id__isnull=False)),
        "passkeys": rows(Passkey.objects.filter(factors__user=user)),
        "invitations_sent": rows(Invitation.objects.filter(invited_by=user)),
        "mails": rows(mails.exclude(kind=EmailChange._meta.label_lower)),
        "locks_and_devices": rows(Lockout.objects.filter(email__in=emails)),
        "trail": rows(Record.objects.filter(by_or_about)),
    }
