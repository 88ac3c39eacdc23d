"""The facts on a user's or a company's page, in a bounded number of queries."""

from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from accounts.models import Account, User
from apikeys.models import ApiKey
from assistants.models import Grant
from audit.models import AuditEvent, Kind
from base.admin import count_of, format_count
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from privacy.models import links_of, mails_of
from scim.models import ScimUser
from signin.factors.models import Factors
from sso.models import Domain, IdentityProvider
from throttling.models import Lockout

MAX_PANEL_ROWS = 10  # of each list
MAX_COMPANY_ROWS = 500  # of a company's users, and of its invitations
LAST_ATTEMPT_KINDS = [Kind.LOGIN_SUCCEEDED, Kind.LOGIN_FAILED, Kind.LOGIN_LOCKED]
LAST_ATTEMPT_KINDS += [Kind.SIGNUP_COMPLETED, Kind.INVITATION_ACCEPTED, Kind.PASSWORD_CHANGED]


def format_minute(at: datetime | None) -> str:
    """A UTC time as all pages show it; "" for None."""
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def read_user_panel(user: User, viewer: User) -> dict[str, Any]:
    """Facts about the user; except for `factors` and `provisioning`, only those whose table the
    viewer may view. Lists are lazy querysets of the newest MAX_PANEL_ROWS rows; `sign_ins`, `mails`
    and `invitations` (open ones, also expired) are those of the current address. `factors`,
    `provisioning`, `lockout` and `last_link` are None without a row. Until the mail of `last_link`
    is sent, `link_mail` is "waiting", or "refused" if it won't be, or None if its row is gone."""
    panel: dict[str, Any] = {"may_view_company": viewer.has_perm("accounts.view_account")}
    panel["factors"] = Factors.objects.filter(user=user).first()
    panel["provisioning"] = ScimUser.objects.filter(user=user).first()
    if viewer.has_perm("throttling.view_lockout"):
        # There may also be a row for each known device: the longest lock is shown.
        order = F("locked_until").desc(nulls_last=True)
        panel["lockout"] = Lockout.objects.filter(email=user.email).order_by(order).first()
    if viewer.has_perm("audit.view_auditevent"):
        events = AuditEvent.objects.filter(subject=user.email, kind__in=LAST_ATTEMPT_KINDS)
        panel["sign_ins"] = events[:MAX_PANEL_ROWS]
    if viewer.has_perm("assistants.view_grant"):
        grants = Grant.objects.live().filter(user=user)
        panel["grants"] = grants.select_related("client")[:MAX_PANEL_ROWS]
    if viewer.has_perm("mail.view_outgoingmail"):
        panel["mails"] = OutgoingMail.objects.filter(email=user.email)[:MAX_PANEL_ROWS]
    if viewer.has_perm("passwords.view_passwordchange"):
        panel["last_link"] = link = PasswordChange.objects.filter(user=user).first()
        if link and not link.expires_at:
            panel["link_mail"] = OutgoingMail.objects.newest_delivery(link.pk).first()
    if viewer.has_perm("invitations.view_invitation"):
        invitations = Invitation.objects.unanswered().filter(email=user.email)
        panel["invitations"] = invitations.select_related("account")[:MAX_PANEL_ROWS]
    return panel


def read_company_panel(account: Account, viewer: User) -> dict[str, Any]:
    """The company's users and open invitations (MAX_COMPANY_ROWS at most), its consultants
    (MAX_PANEL_ROWS), the number of each (`…_count`), and its newest MAX_PANEL_ROWS API keys, ended
    or not; only those that the viewer may view."""
    panel: dict[str, Any] = {}
    if viewer.has_perm("accounts.view_user"):
        panel["users"] = account.users.order_by("email")[:MAX_COMPANY_ROWS]
        panel["users_count"] = account.users.count()
    if viewer.has_perm("invitations.view_invitation"):
        invitations = Invitation.objects.unanswered().filter(account=account)
        panel["invitations"] = invitations[:MAX_COMPANY_ROWS]
        panel["invitations_count"] = invitations.count()
    if viewer.has_perm("accounts.view_consultant"):
        consultants = account.consultants.select_related("user", "manager")
        panel["consultants"] = consultants[:MAX_PANEL_ROWS]
        panel["consultants_count"] = account.consultants.count()
    if viewer.has_perm("apikeys.view_apikey"):
        panel["api_keys"] = ApiKey.objects.filter(account=account)[:MAX_PANEL_ROWS]
    return panel


def count_user_erasure(user: User) -> dict[str, str]:
    """What erasing the user deletes or changes: by a phrase such as "second factors", the number of
    rows as text, such as "0" or "over 10,000"."""
    factors = Factors.objects.filter(user=user).first()
    emails = user.current_and_former_emails()
    about_user = Q(subject_id=user.pk) | Q(subject_id=None, subject__in=emails)
    return {
        "second factors": str(len(factors.app_and_passkeys()) if factors else 0),
        "e-mailed links and invitations": str(sum(links.count() for links in links_of(emails))),
        "connected apps": count_as_text(Grant.objects.live().filter(user=user)),
        "mails in the outbox": count_as_text(mails_of(emails)),
        "lockouts and counted failures": count_as_text(Lockout.objects.filter(email__in=emails)),
        "events in the audit log, which keep a pseudonym": count_as_text(
            AuditEvent.objects.filter(Q(actor_id=user.pk) | about_user)
        ),
    }


def count_company_erasure(account: Account) -> dict[str, str]:
    """What erasing the company deletes or changes: by a phrase such as "API keys", the number of
    rows as text, such as "0" or "over 10,000". Mails, lockouts and events that name its users by
    former addresses alone are left out."""
    user_emails = account.users.values_list("email", flat=True)
    invitation_ids = account.invitations.values("pk")
    mails = mails_of(user_emails) | OutgoingMail.objects.filter(link_id__in=invitation_ids)
    lockouts = Lockout.objects.filter(email__in=user_emails)
    events = AuditEvent.objects.filter(account_id=account.pk)
    return {
        "users, with their second factors and links": count_as_text(account.users.all()),
        "invitations": count_as_text(account.invitations.all()),
        "consultants": count_as_text(account.consultants.all()),
        "API keys": count_as_text(ApiKey.objects.filter(account=account)),
        "identity providers": count_as_text(IdentityProvider.objects.filter(account=account)),
        "mail domains": count_as_text(Domain.objects.filter(account=account)),
        "mails in the outbox": count_as_text(mails),
        "lockouts and counted failures": count_as_text(lockouts),
        "events in the audit log, which keep pseudonyms": count_as_text(events),
    }


def count_as_text(rows: QuerySet[Any]) -> str:
    """The number of rows as text, "over 10,000" at most."""
    return format_count(count_of(rows))
