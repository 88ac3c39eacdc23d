"""The facts on a user's or a company's page, in a fixed number of queries.

Each part is read only for viewers with the permission to view its table.
"""

from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from accounts.models import Account, User
from assistants.models import Grant
from audit.models import AuditEvent, Kind
from base.admin import count_of, format_count
from invitations.models import Invitation
from mail.links import EmailedLink
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.factors.models import Factors
from throttling.models import Lockout

SHOWN = 10  # rows of each list
MOST_LISTED = 500  # of a company's users and invitations
SIGN_INS = [Kind.LOGIN_SUCCEEDED, Kind.LOGIN_FAILED, Kind.LOGIN_LOCKED]
SIGN_INS += [Kind.SIGNUP_COMPLETED, Kind.INVITATION_ACCEPTED, Kind.PASSWORD_CHANGED]


def format_minute(at: datetime | None) -> str:
    """A time in the date format of all pages, in UTC."""
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def of_user(user: User, viewer: User) -> dict[str, Any]:
    panel: dict[str, Any] = {"company": viewer.has_perm("accounts.view_account")}
    panel["factors"] = Factors.objects.filter(user=user).first()
    if viewer.has_perm("throttling.view_lockout"):
        longest = F("locked_until").desc(nulls_last=True)  # of unknown and known devices
        panel["lockout"] = Lockout.objects.filter(email=user.email).order_by(longest).first()
    if viewer.has_perm("audit.view_auditevent"):
        events = AuditEvent.objects.filter(subject=user.email, kind__in=SIGN_INS)
        panel["sign_ins"] = events[:SHOWN]
    if viewer.has_perm("assistants.view_grant"):
        grants = Grant.objects.live().filter(user=user)
        panel["grants"] = grants.select_related("client")[:SHOWN]
    if viewer.has_perm("mail.view_outgoingmail"):
        panel["mails"] = OutgoingMail.objects.filter(email=user.email)[:SHOWN]
    if viewer.has_perm("passwords.view_passwordchange"):
        panel["last_link"] = PasswordChange.objects.filter(user=user).first()
    if viewer.has_perm("invitations.view_invitation"):
        invitations = Invitation.objects.open().filter(email=user.email)
        panel["invitations"] = invitations.select_related("account")[:SHOWN]
    return panel


def of_account(account: Account, viewer: User) -> dict[str, Any]:
    """The company's users and open invitations, MOST_LISTED of each, and the first consultants."""
    panel: dict[str, Any] = {}
    if viewer.has_perm("accounts.view_user"):
        panel["users"] = account.users.order_by("email")[:MOST_LISTED]
        panel["users_count"] = account.users.count()
    if viewer.has_perm("invitations.view_invitation"):
        invitations = Invitation.objects.open().filter(account=account)
        panel["invitations"] = invitations[:MOST_LISTED]
        panel["invitations_count"] = invitations.count()
    if viewer.has_perm("accounts.view_consultant"):
        panel["consultants"] = account.consultants.select_related("user", "manager")[:SHOWN]
        panel["consultants_count"] = account.consultants.count()
    return panel


def erasure_of_user(user: User) -> dict[str, str]:
    """What erasing the user deletes or changes, and how many of each."""
    factors = Factors.objects.filter(user=user).first()
    kinds = EmailedLink.models_by_label().values()
    links = [kind._default_manager.filter(email=user.email) for kind in kinds]
    events = AuditEvent.objects.filter(Q(subject=user.email) | Q(actor_id=user.pk))
    return {
        "second factors": str(len(factors.app_and_passkeys()) if factors else 0),
        "e-mailed links and invitations": str(sum(found.count() for found in links)),
        "connected apps": formatted_count(Grant.objects.live().filter(user=user)),
        "mails in the outbox": formatted_count(OutgoingMail.objects.filter(email=user.email)),
        "lockouts and counted failures": formatted_count(Lockout.objects.filter(email=user.email)),
        "events in the audit log, which keep a pseudonym": formatted_count(events),
    }


def erasure_of_account(account: Account) -> dict[str, str]:
    invited = account.invitations.values("email")
    mails = Q(email__in=account.users.values("email")) | Q(email__in=invited)
    events = AuditEvent.objects.filter(account_id=account.pk)
    return {
        "users, with their second factors and links": formatted_count(account.users.all()),
        "invitations": formatted_count(account.invitations.all()),
        "consultants": formatted_count(account.consultants.all()),
        "mails in the outbox": formatted_count(OutgoingMail.objects.filter(mails)),
        "events in the audit log, which keep pseudonyms": formatted_count(events),
    }


def formatted_count(rows: QuerySet[Any]) -> str:
    return format_count(count_of(rows))
