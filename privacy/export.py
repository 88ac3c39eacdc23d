"""All that is stored about a user, as JSON: for the user and for data requests."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Model, Q, QuerySet

from accounts.models import Consultant, User
from assistants.models import Grant
from audit.models import Record
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.devices import Device
from signin.factors.models import Factors, Passkey
from signin.models import SignupLink, UnlockLink
from throttling.models import Lockout

LINK = ["email", "language", "created_at", "expires_at", "used_at"]
TRAIL = ["at", "kind", "actor_email", "subject", "address", "agent", "request_id", "detail"]
MOST_EVENTS = 10_000  # in one answer

GRANT = ["created_at", "redeemed_at", "used_at", "used_from", "ended_at"]
PROFILE = ["id", "email", "first_name", "last_name", "role", "language", "is_active", "is_staff"]
PROFILE += ["is_superuser", "created_at", "last_sign_in_at", "account_id", "account__name"]

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
    OutgoingMail: ["kind", "email", "language", "state", "created_at", "sent_at"],
    Factors: ["totp_name", "totp_added_at", "totp_used_at"],
    Passkey: ["name", "created_at", "last_used_at"],
    Device: ["name", "created_at", "used_at"],
    Lockout: ["email", "device", "failures", "failed_at", "locked_until", "refusals"],
    Record: TRAIL,
}


def rows(found: QuerySet) -> list[dict[str, object]]:
    return list(found.order_by("pk").values(*FIELDS[found.model]))


def by_kind(found: Iterable[QuerySet]) -> dict[str, list[dict[str, object]]]:
    return {str(one.model._meta.verbose_name_plural): rows(one) for one in found}


def stored_on(user: User, emails: set[str]) -> dict[str, object]:
    """The user's data, by what it is, but for events; User.DoesNotExist for who was erased.

    Of e-mail changes only those that were made: the worker makes a link, and drops a mail, by
    whether the new address is taken, which is nobody's business. The log has what was asked for.
    """
    own, of_emails = {"user": user}, {"email__in": emails}
    links = [
        SignupLink.objects.filter(**of_emails),
        Invitation.objects.filter(**of_emails),
        PasswordChange.objects.filter(**own),
        UnlockLink.objects.filter(**own),
        UndoEmailChange.objects.filter(**own),
        EmailChange.objects.filter(**own, used_at__isnull=False),
    ]
    mails = OutgoingMail.objects.filter(**of_emails)
    return {
        "profile": User.objects.values(*PROFILE).get(pk=user.pk),
        "consultant": rows(Consultant.objects.filter(user=user)),
        "manages": rows(Consultant.objects.filter(manager=user)),
        "assistants": rows(Grant.objects.filter(**own)),
        "links": by_kind(links),
        "authenticator_apps": rows(Factors.objects.filter(**own, totp_id__isnull=False)),
        "passkeys": rows(Passkey.objects.filter(factors__user=user)),
        "invitations_sent": rows(Invitation.objects.filter(invited_by=user)),
        "mails": rows(mails.exclude(kind=EmailChange._meta.label_lower)),
        "devices": rows(Device.objects.filter(**own)),
        "locks_and_devices": rows(Lockout.objects.filter(**of_emails)),
    }


def events_of(user: User, emails: set[str], before: int | None) -> list[Record]:
    """The newest events by or about the user, by index; those `before` an event. What bears no id
    is about the user by its exact address."""
    others = Record.objects.exclude(actor_id=user.pk)
    found = [Record.objects.filter(actor_id=user.pk), others.filter(subject_id=user.pk)]
    found += [others.filter(subject_id=None, subject=email) for email in sorted(emails)]
    older = Q() if before is None else Q(pk__lt=before)
    newest = [one for part in found for one in part.filter(older).order_by("-pk")[:MOST_EVENTS]]
    newest.sort(key=lambda event: event.pk, reverse=True)
    return user.hide_others(newest[:MOST_EVENTS])


def export(user: User, before: int | None = None) -> dict[str, Any]:
    """The user's data, with the newest events, and `next`, with which the older ones are asked for:
    they are those `before` an event, and come alone.

    User.DoesNotExist for a user who has been erased.
    """
    emails = user.emails()
    stored = stored_on(user, emails) if before is None else {}
    events = events_of(user, emails, before)
    shown = [{name: getattr(event, name) for name in TRAIL} for event in events]
    older = events[-1].pk if len(events) == MOST_EVENTS else None
    return stored | {"trail": shown, "next": older}
