"""Erasing people: their rows go, and the trail keeps its records under a pseudonym."""

import time
import uuid
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac

from accounts.exceptions import LastAdmin
from accounts.models import Account, Consultant, Role, User
from audit import trail
from audit.budget import Budget
from audit.models import Kind, Record
from emailchanges.models import EmailChange, UndoEmailChange
from mail.budget import MailBudget
from mail.links import EmailedLink
from mail.notices import FORGOTTEN, Notice
from mail.outbox import OutgoingMail
from throttling.models import Lockout

# What was under way when somebody was erased may still write about them: a log-in that waits for
# its turn to hash. So the trail is looked at once more when it has ended.
SETTLED = 5  # seconds
OF_CHANGES = EmailChange._meta.label_lower
CHANGES = [Kind.EMAIL_CHANGE_REQUESTED, Kind.EMAIL_CHANGED, Kind.EMAIL_CHANGE_UNDONE]


@dataclass
class Gone:
    """Somebody who is being erased, as the trail knows them before and after."""

    pk: UUID
    emails: list[str]
    account_id: UUID
    names: list[str]
    alias: UUID
    pseudonym: str
    asked_for: list[str] = field(default_factory=list)  # emails that may be anybody's

    @classmethod
    def of(cls, user: User) -> "Gone":
        """With a pseudonym that only this service can make of the id: a keyed hash."""
        digest = salted_hmac("privacy.pseudonym", str(user.pk), algorithm="sha256").digest()
        alias = uuid.UUID(bytes=digest[:16], version=5)
        profiles = Consultant.objects.filter(user=user).values_list("name", flat=True)
        names = [user.get_full_name(), user.first_name, user.last_name, *profiles]
        pseudonym, (own, asked_for) = f"erased-{digest[16:24].hex()}", emails_of(user)
        names += asked_for  # of which others' records are none of theirs
        return cls(user.pk, own, user.account_id, names, alias, pseudonym, asked_for)

    def leave_the_trail(self) -> None:
        Record.objects.all().pseudonymise(self)


def emails_of(user: User) -> tuple[list[str], list[str]]:
    """The emails that are or were the person's, but for one that somebody else has now; and those
    that they have asked for, which may be anybody's."""
    records = Record.objects.filter(actor_id=user.pk)
    own = {user.email, *records.values_list("actor_email", flat=True).distinct()}
    own |= set(UndoEmailChange.objects.filter(user=user).values_list("email", flat=True))
    asked_for, email = set[str](), user.email
    changes = Record.objects.filter(kind__in=CHANGES, account_id=user.account_id)
    for change in changes.order_by("-at"):  # an operator's names the person by the email alone
        if change.actor_id == user.pk or change.subject == email:
            asked_for |= {change.detail.get("new", email)}
            email = change.detail.get("old") or change.detail.get("undone") or email
            own.add(email)
    others = User.objects.filter(email__in=own).exclude(pk=user.pk)
    return sorted(own - set(others.values_list("email", flat=True))), sorted(asked_for - own)


def erase(user: User, actor: User | None) -> str:
    """Erase a person for good; the pseudonym that is left. `actor` is a superuser, None a command.

    Raises LastAdmin for the last active admin of a company, PermissionDenied where the actor may
    not act on the user.
    """
    if actor is not None:
        actor.check_reach(user)
    with transaction.atomic():
        Account.objects.lock(user.account_id)
        gone = erase_one(user, actor)
        company = User.objects.filter(account=gone.account_id)
        if user.role == Role.ADMIN and user.is_active and not company.active_admins().exists():
            raise LastAdmin
        trail.record(Kind.ERASED, actor=actor, subject=gone.pseudonym, account_id=gone.account_id)
    settle([gone])
    return gone.pseudonym


def delete_company(account: Account, actor: User | None) -> int:
    """Erase a company with everybody in it, its consultants and its invitations; how many people.
    Raises PermissionDenied where the actor may not act on it."""
    if actor is not None:
        actor.check_reach(account)
    with transaction.atomic():
        account = Account.objects.select_for_update().get(pk=account.pk)
        gone = [erase_one(user, actor) for user in account.users.order_by("pk")]
        emails = list(account.invitations.values_list("email", flat=True))
        names = [*account.consultants.values_list("name", flat=True), *emails]
        account.consultants.all().delete()
        account.invitations.all().delete()
        OutgoingMail.objects.filter(email__in=emails, kind="invitations.invitation").delete()
        company = Gone(
            account.pk, [account.name], account.pk, names, account.pk, f"company {account.pk}"
        )
        company.leave_the_trail()
        MailBudget.objects.filter(name__contains=str(account.pk)).delete()
        trail.record(
            Kind.COMPANY_DELETED, actor=actor, account_id=account.pk, subject=company.pseudonym
        )
        account.delete()
    settle(gone)
    return len(gone)


def erase_one(user: User, actor: User | None) -> Gone:
    """Erase one person, in the caller's transaction, which holds the company. They are told by a
    last mail, with which their address goes."""
    user = User.objects.select_for_update().get(pk=user.pk)
    gone = Gone.of(user)
    user.tell_admins(user.revoke_sent(actor), actor)
    Consultant.objects.filter(user=user).update(name="")
    end_sessions_of_staff(user)
    user.delete()
    forget_email(gone)
    OutgoingMail.objects.tell(Notice("erased", user.email, user.language))
    gone.leave_the_trail()
    return gone


def forget_email(gone: Gone) -> None:
    """Delete what bears an email or the id, and no foreign key."""
    for model in EmailedLink.kinds():
        model._default_manager.filter(email__in=gone.emails).delete()
    Lockout.objects.filter(email__in=gone.emails).delete()
    mails = Q(email__in=gone.emails) | Q(email__in=gone.asked_for, kind=OF_CHANGES)
    OutgoingMail.objects.filter(mails).exclude(kind__in=FORGOTTEN).delete()
    named, about = Q(name__contains=str(gone.pk)), Q(object_id=str(gone.pk))
    named |= Q(name__in=[f"{OF_CHANGES} {email}" for email in gone.asked_for])
    for email in gone.emails:
        named |= Q(name__endswith=f" {email}")
        about |= Q(object_repr__icontains=email)
    for budget in Budget.__subclasses__():
        budget._default_manager.filter(named).delete()
    LogEntry.objects.filter(about).update(object_repr=gone.pseudonym, object_id=str(gone.alias))


def end_sessions_of_staff(user: User) -> None:
    """Delete the back office's sessions of the person: what they hold names the id."""
    if user.is_staff:
        for session in Session.objects.iterator():
            if session.get_decoded().get("_auth_user_id") == str(user.pk):
                session.delete()


def pause() -> None:
    time.sleep(SETTLED)


def settle(people: list[Gone]) -> None:
    """Look at the trail once more, when what was under way has ended."""
    pause()
    with transaction.atomic():
        for gone in people:
            forget_email(gone)
            gone.leave_the_trail()
