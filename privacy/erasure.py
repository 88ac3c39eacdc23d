"""Erasing people: their rows go, and the trail keeps its records under a pseudonym."""

import time
import uuid
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q
from django.utils import translation
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from accounts.errors import LastAdmin
from accounts.history import email_changes, not_of_others
from accounts.models import Account, Consultant, Role, User
from audit import trail
from audit.budget import Budget
from audit.models import Kind, Record, replaced
from emailchanges.models import EmailChange, UndoEmailChange
from mail.budget import MailBudget
from mail.links import EmailedLink
from mail.notices import FORGOTTEN, PREFIX, Notice
from mail.outbox import OutgoingMail
from throttling.models import Lockout

# What was under way when somebody was erased may still write about them: a log-in that waits for
# its turn to hash. So the trail is looked at once more when it has ended.
SETTLED = 5  # seconds
OF_CHANGES = EmailChange._meta.label_lower
NAMING = {"by", "name", "emails"}  # what notices name others by


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
    rows: list[str] = field(default_factory=list)  # ids of what else was called by the names

    @classmethod
    def of(cls, user: User) -> "Gone":
        """With a pseudonym that only this service can make of the id: a keyed hash."""
        digest = salted_hmac("privacy.pseudonym", str(user.pk), algorithm="sha256").digest()
        alias = uuid.UUID(bytes=digest[:16], version=5)
        profiles = Consultant.objects.filter(user=user)
        names = [user.get_full_name(), user.first_name, user.last_name]
        names += profiles.values_list("name", flat=True)
        pseudonym, (own, asked_for) = f"erased-{digest[16:24].hex()}", emails_ever_of(user)
        names += asked_for  # of which others' records are none of theirs
        rows = [str(pk) for pk in profiles.values_list("pk", flat=True)]
        return cls(user.pk, own, user.account_id, names, alias, pseudonym, asked_for, rows)

    def leave_the_trail(self) -> None:
        Record.objects.all().pseudonymise(self)


def emails_ever_of(user: User) -> tuple[list[str], list[str]]:
    """The emails that are or were the person's, but for one that somebody else has now; and those
    that they have asked for, which may be anybody's."""
    records = Record.objects.filter(actor_id=user.pk)
    own = {user.email, *records.values_list("actor_email", flat=True).distinct()}
    own |= set(UndoEmailChange.objects.filter(user=user).values_list("email", flat=True))
    asked_for, then = set[str](), user.email
    for change, before in email_changes(user):
        asked_for |= {change.detail.get("new", then)}
        then = before
        own.add(before)
    return sorted(not_of_others(own, user)), sorted(asked_for - own)


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
    Raises PermissionDenied where the actor may not act on it, and for the operators' company: with
    it would go whoever could sign in to the back office."""
    if account.is_operators:
        raise PermissionDenied("The operators' company stays.")
    if actor is not None:
        actor.check_reach(account)
    with transaction.atomic():
        account = Account.objects.select_for_update().get(pk=account.pk)
        gone = [erase_one(user, actor) for user in account.users.order_by("pk")]
        company, staff = as_gone(account), companies_of_staff(account)
        OutgoingMail.objects.filter(link_id__in=account.invitations.values("pk")).delete()
        account.consultants.all().delete()
        account.invitations.all().delete()
        leave_the_log(company, [])
        company.leave_the_trail()
        for operators in staff:
            replace(company, account_id=operators, names=[account.name]).leave_the_trail()
        MailBudget.objects.filter(name__contains=str(account.pk)).delete()
        trail.record(
            Kind.COMPANY_DELETED, actor=actor, account_id=account.pk, subject=company.pseudonym
        )
        account.delete()
    settle(gone)
    return len(gone)


def as_gone(account: Account) -> Gone:
    """A company whose people have gone, with its consultants and all that it has invited. Its own
    trail alone forgets the names: others may be called so, too."""
    called = dict(account.invitations.values_list("pk", "email"))
    called |= dict(account.consultants.values_list("pk", "name"))
    invited = Record.objects.filter(account_id=account.pk, kind=Kind.INVITATION_CREATED)
    invited = invited.exclude(subject__startswith="erased-")
    names = {account.name, *called.values(), *invited.values_list("subject", flat=True)}
    pseudonym, rows = f"company {account.pk}", [str(pk) for pk in called]
    return Gone(account.pk, [], account.pk, sorted(names), account.pk, pseudonym, rows=rows)


def companies_of_staff(account: Account) -> set[UUID]:
    """To whose trails it belongs what staff have changed of the company: their own companies'."""
    changes = Record.objects.filter(subject=account.name, detail__id=str(account.pk))
    return {pk for pk in changes.values_list("account_id", flat=True) if pk}


def erase_one(user: User, actor: User | None) -> Gone:
    """Erase one person, in the caller's transaction, which holds the company. They are told by a
    last mail, with which their address goes."""
    user = User.objects.select_for_update().get(pk=user.pk)
    gone = Gone.of(user)
    user.tell_admins(user.revoke_sent(actor), actor)
    Consultant.objects.filter(user=user).update(name="")
    end_sessions_in_the_back_office(user)
    user.delete()
    forget(gone)
    OutgoingMail.objects.tell(Notice("erased", user.email, user.language))
    gone.leave_the_trail()
    return gone


def forget(gone: Gone) -> None:
    """Delete what bears an email or the id, and no foreign key; and the names in what stays."""
    for model in EmailedLink.kinds():
        model._default_manager.filter(email__in=gone.emails).delete()
    Lockout.objects.filter(email__in=gone.emails).delete()
    mails = Q(email__in=gone.emails) | Q(email__in=gone.asked_for, kind=OF_CHANGES)
    OutgoingMail.objects.filter(mails).exclude(kind__in=FORGOTTEN).delete()
    named = Q(name__contains=str(gone.pk))
    named |= Q(name__in=[f"{OF_CHANGES} {email}" for email in gone.asked_for])
    for email in gone.emails:
        named |= Q(name__endswith=f" {email}")
    for budget in Budget.__subclasses__():
        budget._default_manager.filter(named).delete()
    leave_the_log(gone, gone.emails)
    leave_the_mails_of_others(gone)


def leave_the_log(gone: Gone, emails: list[str]) -> None:
    """Django's log of the back office repeats how a row was called: as the person, or by what was
    mailed to them ("invitation for …"), cut at 200 characters."""
    about = Q(object_id__in=[str(gone.pk), *gone.rows])
    with translation.override(None):  # the log is in no reader's language
        called = [str(kind._meta.verbose_name) for kind in EmailedLink.kinds()]
    for email in emails:
        about |= Q(object_repr__in=[email, *(f"{kind} for {email}"[:200] for kind in called)])
    LogEntry.objects.filter(about).update(object_repr=gone.pseudonym)
    LogEntry.objects.filter(object_id=str(gone.pk)).update(object_id=str(gone.alias))


def leave_the_mails_of_others(gone: Gone) -> None:
    """What has not been mailed to colleagues yet, or never could be, names the person."""
    colleagues = User.objects.filter(account=gone.account_id).values("email")
    mails = OutgoingMail.objects.filter(email__in=colleagues, kind__startswith=PREFIX)
    names = {name for name in [*gone.names, *gone.emails] if name}
    for mail in mails.select_for_update(skip_locked=True):  # not what is just being sent
        context = mail.context or {}  # none of one that was sent
        told = {key: context[key] for key in NAMING & context.keys()}
        with translation.override(mail.language):
            news = replaced(told, names, gettext("somebody who left"))
        if news != told:
            OutgoingMail.objects.filter(pk=mail.pk).update(context=context | news)


def end_sessions_in_the_back_office(user: User) -> None:
    """Delete the sessions of somebody who is or was staff: what they hold names the id."""
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
            forget(gone)
            gone.leave_the_trail()
