"""What a support call asks about a person or a company, read in a fixed number of queries."""

from typing import Any

from django.utils import timezone

from accounts.models import Account, Consultant, User
from assistants.models import Grant
from audit.models import Kind, Record
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.factors.models import Factors
from throttling.models import Lockout

SHOWN = 10  # rows of each list
SIGN_INS = [Kind.LOGIN_SUCCEEDED, Kind.LOGIN_FAILED, Kind.LOGIN_LOCKED]
ENTRANCES = [Kind.SIGNUP_COMPLETED, Kind.INVITATION_ACCEPTED, Kind.PASSWORD_CHANGED]


def of_user(user: User) -> dict[str, Any]:
    """Lock, last sign-ins and failures, second factors, assistants, mails, open links, consultant
    profile and what is managed.

    Reads eight tables once each, and where there are second factors three more.
    """
    records = Record.objects.filter(subject=user.email)
    return {
        "now": timezone.now(),
        "lockout": Lockout.objects.filter(email=user.email, device="").first(),
        "sign_ins": records.filter(kind__in=[*SIGN_INS, *ENTRANCES])[:SHOWN],
        "factors": Factors.objects.filter(user=user).first(),
        "grants": Grant.objects.live().filter(user=user).select_related("client")[:SHOWN],
        "mails": OutgoingMail.objects.filter(email=user.email)[:SHOWN],
        "last_link": PasswordChange.objects.filter(user=user).first(),
        "invitations": Invitation.objects.open()
        .filter(email=user.email)
        .select_related("account")[:SHOWN],
        "consultant": Consultant.objects.filter(user=user).select_related("manager").first(),
        "managed": Consultant.objects.filter(manager=user)[:SHOWN],
    }


def of_account(account: Account) -> dict[str, Any]:
    """The company's people, open invitations and consultants, the first of each."""
    return {
        "people": account.users.order_by("email")[:SHOWN],
        "people_count": account.users.count(),
        "invitations": Invitation.objects.open().filter(account=account)[:SHOWN],
        "consultants": account.consultants.select_related("user", "manager")[:SHOWN],
        "consultants_count": account.consultants.count(),
    }
