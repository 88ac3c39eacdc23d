"""Erasures: users and companies that were erased, and whose events are being pseudonymised."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

import audit
from accounts import providers
from accounts.errors import LastAdmin
from accounts.models import Account, Consultant, User, next_token_version
from apikeys.models import ApiKey
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from audit.pseudonyms import alias_of, pseudonym_of, pseudonymise_batch
from base.batches import delete_in_batches
from emailchanges.models import EmailChange
from invitations.models import Invitation, Status
from mail.links import RETENTION, EmailedLink
from mail.notices import KINDS_DELETED_AT_END, NOTICE_PREFIX, Notice
from mail.outbox import OutgoingMail
from sso.models import IdentityProvider
from throttling.models import Lockout

logger = logging.getLogger(__name__)

# A request that was under way at the erasure, such as a sign-in that waits to hash a password, may
# still write about the user. After this time it has ended.
REQUESTS_HAVE_ENDED = timedelta(seconds=30)
USERS_PER_BATCH = 100


def emails_without_user(emails: Iterable[str]) -> set[str]:
    """Those of the addresses that no user has: a former one may have passed to another user."""
    return set(emails) - set(User.objects.filter(email__in=emails).values_list("email", flat=True))


def pending_invitations_to(emails: Iterable[str]) -> models.QuerySet[Invitation]:
    return Invitation.objects.in_status(Status.PENDING).filter(email__in=emails)


def links_of(emails: Iterable[str]) -> list[models.QuerySet[Any]]:
    """The links to the addresses that an erasure deletes, by a query for each kind. Pending
    invitations stay, since other companies may have sent them."""
    pending_ids = pending_invitations_to(emails).values("pk")
    managers = [model._default_manager for model in EmailedLink.models_by_label().values()]
    return [manager.filter(email__in=emails).exclude(pk__in=pending_ids) for manager in managers]


def mails_of(emails: Iterable[str]) -> models.QuerySet[OutgoingMail]:
    """The mails to the addresses that an erasure deletes. Mails of pending invitations stay, and
    the last mail that tells a user of the erasure."""
    mails = OutgoingMail.objects.filter(email__in=emails).exclude(kind__in=KINDS_DELETED_AT_END)
    return mails.exclude(link_id__in=pending_invitations_to(emails).values("pk"))


def forget_emails(emails: set[str]) -> None:
    """Delete the lockouts, `links_of` and `mails_of` addresses that no user has."""
    for links in links_of(emails):
        links.delete()
    Lockout.objects.filter(email__in=emails).delete()
    mails_of(emails).delete()


def forget_late_emails(emails: set[str]) -> None:
    """Delete, of these addresses that no user has, the lockouts, notices and mails of links for
    users: requests that were under way at the erasure may have written them. Links that the person
    has got by signing up again stay, with their mails, and so does the mail about the erasure."""
    Lockout.objects.filter(email__in=emails).delete()
    for_users = Q(kind__in=EmailedLink.labels_for_registered())
    mails = OutgoingMail.objects.filter(
        for_users | Q(kind__startswith=NOTICE_PREFIX), email__in=emails
    )
    mails.exclude(kind__in=KINDS_DELETED_AT_END).delete()


def forget_in_sessions(user_ids: list[str]) -> None:
    """End the users' sessions in the back office. Delete the messages that wait in all other
    sessions, since messages may name the users."""
    for session in Session.objects.all():
        values = session.get_decoded()
        if values.get(SESSION_KEY) in user_ids:
            session.delete()
        elif values.pop("_messages", None):
            encoded = Session.objects.encode(values)  # unless the session has ended meanwhile
            Session.objects.filter(pk=session.pk).update(session_data=encoded)


class ErasureQuerySet(models.QuerySet["Erasure"]):
    def erase_user(self, user: User, actor: Actor) -> "Erasure":
        """Erase a user permanently, and return the erasure, with which the worker pseudonymises the
        audit log. Open invitations that the user has sent are revoked. The caller has checked that
        the actor is a superuser or a command.

        Raises LastAdmin for the only active admin, LastBreakGlassAdmin for the last break-glass
        admin of a company that requires its provider, User.DoesNotExist if the user was already
        erased, or NotFound if the company was. Then nothing is changed.
        """
        with transaction.atomic():
            Account.objects.lock(user.account_id)
            user = User.objects.select_for_update().get(pk=user.pk)  # the role may have changed
            if user.is_only_admin:
                raise LastAdmin
            user.stop_inviting(actor)
            erasure = Erasure(pseudonym=pseudonym_of(user.pk), alias=alias_of(user.pk))
            erasure.delete_users([user])
            providers.rules.require_break_glass_admin(user.account_id)
            subject = audit.Subject(erasure.alias, erasure.pseudonym)
            audit.record(Kind.ERASED, actor=actor, subject=subject, account_id=user.account_id)
        return erasure

    def delete_company(self, account: Account, actor: Actor) -> "Erasure":
        """Begin to delete a company. A second call returns the same erasure.

        1. Here, in one transaction: its users are signed out and deactivated; its invitations, its
        API keys and its identity provider are deleted. 2. In the worker, or by `process_batch`: its
        users, who get a last mail, its consultants and the company are erased in batches. 3. After
        these the audit log is pseudonymised.

        Raises Django's PermissionDenied for the operators' company, or Account.DoesNotExist once
        the worker has erased the company. The caller has checked that the actor is a superuser or a
        command."""
        with transaction.atomic():
            account = Account.objects.select_for_update().get(pk=account.pk)
            if account.is_operators:
                raise PermissionDenied("The operators' company cannot be deleted.")
            pk, pseudonym = account.pk, f"company {account.pk}"
            keys = ApiKey.objects.filter(account=account)
            ids = [str(pk), *(str(key.pk) for key in keys)]
            defaults = {"alias": alias_of(pk), "ids": ids, "account_id": pk}
            erasure, is_new = self.get_or_create(pseudonym=pseudonym, defaults=defaults)
            if is_new:
                account.users.update(is_active=False, token_version=next_token_version())
                Invitation.objects.delete_all_of(pk)
                keys.delete()
                IdentityProvider.objects.filter(account=account).delete()  # ends its sign-ins
                audit.record(Kind.COMPANY_DELETED, actor=actor, subject=pseudonym, account_id=pk)
        return erasure

    def process_backlog(self) -> int:
        """Call `process_batch` of the unfinished erasures, the oldest first, until one returns more
        than 0; returns that number, or 0. Erasures that another worker processes are skipped. An
        erasure that raises an exception is logged, and the next is tried."""
        for erasure in self.filter(done_at=None).order_by("erased_at"):
            try:
                if count := erasure.process_batch(skip_locked=True):
                    return count
            except Exception:
                logger.exception("erasure %s failed", erasure)
        return 0

    def prune_expired(self) -> int:
        """Delete erasures that were done 30 days ago; returns their number."""
        return delete_in_batches(self.filter(done_at__lte=timezone.now() - RETENTION))


class Erasure(models.Model):
    """An erased user or company, by pseudonym. Until it is done, it has the addresses, and the ids
    of the user or company and of the profiles, API keys and users that share the pseudonym."""

    pseudonym = models.CharField(max_length=60, primary_key=True)
    alias = models.UUIDField()
    account_id = models.UUIDField("company ID", null=True)  # null for a user's erasure
    ids = models.JSONField(default=list)
    emails = models.JSONField(default=list)
    erased_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)

    objects = ErasureQuerySet.as_manager()

    class Meta:
        ordering = ["-erased_at"]
        indexes = [
            models.Index(fields=["erased_at"], condition=Q(done_at=None), name="erasure_pending"),
        ]

    def __str__(self) -> str:
        return str(self.pseudonym)

    def delete_users(self, users: list[User]) -> None:
        """Delete the users, with their links, mails, lockouts and sessions, and add their ids and
        addresses to this erasure, which is saved. Their consultant profiles stay, without name and
        user. A last mail tells each user. The caller's transaction has locked the users."""
        user_ids = [str(user.pk) for user in users]
        profiles = Consultant.objects.filter(user__in=users)
        emails = sorted({email for user in users for email in user.current_and_former_emails()})
        self.ids += [*user_ids, *(str(profile.pk) for profile in profiles)]
        self.emails += emails
        self.save()
        profiles.update(name="")
        EmailChange.delete_mails_of(users)
        User.objects.filter(pk__in=user_ids).delete()
        forget_in_sessions(user_ids)
        forget_emails(emails_without_user(emails))
        notices = (Notice("erased", user.email, user.language) for user in users)
        OutgoingMail.objects.queue_notices(notices)

    def process_batch(self, *, skip_locked: bool = False) -> int:
        """Erase a batch of a company's users, or once there are none, the company; after that,
        pseudonymise a batch of events. Returns the number of rows, 0 if nothing is left now. While
        another worker processes this erasure, the call waits, or returns 0 with `skip_locked`."""
        with transaction.atomic():
            erasures = Erasure.objects.select_for_update(skip_locked=skip_locked)
            erasure = erasures.filter(done_at=None, pk=self.pk).first()
            return erasure.process_locked() if erasure else 0

    def process_locked(self) -> int:
        """Do what `process_batch` describes, with this row locked. If nothing is left, and requests
        that were under way at the erasure have ended, mark the row as done, and empty `ids` and
        `emails`."""
        emails = emails_without_user(self.emails)
        count = self.delete_batch_of_company() or pseudonymise_batch(
            self.alias, self.pseudonym, self.ids, emails, self.events_of_company()
        )
        age = timezone.now() - self.erased_at  # negative if a host's clock was wrong
        if not count and not timedelta() <= age < REQUESTS_HAVE_ENDED:
            forget_late_emails(emails)
            self.done_at, self.ids, self.emails = timezone.now(), [], []
            self.save()
        return count

    def delete_batch_of_company(self) -> int:
        """Delete the next batch of the company's users, or once there are none, the company, and
        return how many rows. 0 for a user's erasure, and once the company is deleted."""
        if self.account_id is None:
            return 0
        users = User.objects.filter(account=self.account_id).select_for_update().order_by("pk")
        if batch := list(users[:USERS_PER_BATCH]):
            self.delete_users(batch)
            return len(batch)
        Invitation.objects.delete_all_of(self.account_id)
        return Account.objects.filter(pk=self.account_id).delete()[0]

    def events_of_company(self) -> models.QuerySet[AuditEvent]:
        """The events of the company that this erasure deletes, except those about users who still
        exist, by id or address; none for a user's erasure."""
        if self.account_id is None:
            return AuditEvent.objects.none()
        return AuditEvent.objects.filter(
            ~Exists(User.objects.filter(pk=OuterRef("subject_id"))),
            ~Exists(User.objects.filter(email=OuterRef("subject"))),
            account_id=self.account_id,
        )
