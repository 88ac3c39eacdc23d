"""Erasure: an erased user or company whose events are being pseudonymised."""

import logging
from collections.abc import Iterable
from datetime import timedelta

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
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from audit.pseudonyms import alias_of, pseudonym_of, pseudonymise_batch
from base.batches import delete_in_batches
from emailchanges.models import EmailChange
from invitations.models import Invitation, Status
from mail.links import KEPT_FOR, EmailedLink
from mail.notices import FORGOTTEN, PREFIX, Notice
from mail.outbox import OutgoingMail
from sso.models import IdentityProvider
from throttling.models import Lockout

logger = logging.getLogger(__name__)

# A request that was under way at the erasure, such as a sign-in that waits to hash a password, may
# still write about the user. After this time it has ended.
SETTLED = timedelta(seconds=30)
USERS_AT_ONCE = 100


def without_users(emails: Iterable[str]) -> set[str]:
    """The emails that no user has. A former address may belong to another user by now."""
    return set(emails) - set(User.objects.filter(email__in=emails).values_list("email", flat=True))


def forget_emails(emails: set[str]) -> None:
    """Delete lockouts, links and mails, except pending invitations, which are other companies'."""
    invited = Invitation.objects.in_status(Status.PENDING).filter(email__in=emails).values("pk")
    for model in EmailedLink.models_by_label().values():
        model._default_manager.filter(email__in=emails).exclude(pk__in=invited).delete()
    Lockout.objects.filter(email__in=emails).delete()
    mails = OutgoingMail.objects.filter(email__in=emails).exclude(kind__in=FORGOTTEN)
    mails.exclude(link_id__in=invited).delete()


def forget_late_emails(emails: set[str]) -> None:
    """Delete what a request that was under way at the erasure wrote: lockouts, notices, and mails
    with links for users. Whoever was erased may have come back, by another link."""
    Lockout.objects.filter(email__in=emails).delete()
    for_users = Q(kind__in=EmailedLink.labels_for_registered())
    mails = OutgoingMail.objects.filter(for_users | Q(kind__startswith=PREFIX), email__in=emails)
    mails.exclude(kind__in=FORGOTTEN).delete()


def forget_in_sessions(users: list[str]) -> None:
    """End these users' sessions of the back office. Messages that wait there for other operators go
    too, since they may name the users."""
    for session in Session.objects.all():
        data = session.get_decoded()
        if data.get(SESSION_KEY) in users:
            session.delete()
        elif data.pop("_messages", None):
            session.session_data = Session.objects.encode(data)
            session.save(update_fields=["session_data"])


class ErasureQuerySet(models.QuerySet["Erasure"]):
    def erase_user(self, user: User, actor: Actor) -> "Erasure":
        """Erase a user permanently. The worker then pseudonymises the audit log. `actor` is a
        superuser or a command.

        Raises LastAdmin for the last active admin of a company, or the last one who could sign in
        without its provider, PermissionDenied if the actor may not act on the user, and
        User.DoesNotExist if the user was already erased.
        """
        with transaction.atomic():
            Account.objects.lock(user.account_id)
            user = User.objects.select_for_update().get(pk=user.pk)  # the role may have changed
            actor.require_can_manage(user)
            if user.is_only_admin:
                raise LastAdmin
            user.stop_inviting(actor)
            erasure = Erasure(pseudonym=pseudonym_of(user.pk), alias=alias_of(user.pk))
            erasure.delete_users([user])
            providers.rules.require_break_glass_admin(user.account_id)
            about = audit.Subject(erasure.alias, erasure.pseudonym)
            audit.record(Kind.ERASED, actor=actor, subject=about, account_id=user.account_id)
        return erasure

    def delete_company(self, account: Account, actor: Actor) -> "Erasure":
        """Delete a company's invitations, and sign out and deactivate its users. The worker
        then erases the users, the consultants and the company, and pseudonymises the audit log.

        Raises PermissionDenied if the actor may not act on it, and for the operators' company,
        whose users are the ones who can enter the back office.
        """
        with transaction.atomic():
            account = Account.objects.select_for_update().get(pk=account.pk)
            if account.is_operators:
                raise PermissionDenied("The operators' company cannot be deleted.")
            actor.require_can_manage(account)
            pk, pseudonym = account.pk, f"company {account.pk}"
            about = {"alias": alias_of(pk), "ids": [str(pk)], "account_id": pk}
            erasure, is_new = self.get_or_create(pseudonym=pseudonym, defaults=about)
            if is_new:
                account.users.update(is_active=False, token_version=next_token_version())
                Invitation.objects.delete_all_of(pk)
                IdentityProvider.objects.filter(account=account).delete()  # nobody signs in there
                audit.record(Kind.COMPANY_DELETED, actor=actor, subject=pseudonym, account_id=pk)
        return erasure

    def process_backlog(self) -> int:
        """Do a batch of the first erasure that has one and that no other worker is at; returns its
        size. An error is logged, and holds up no other erasure."""
        for erasure in self.filter(done_at=None).order_by("erased_at"):
            try:
                if count := erasure.process_batch(skip_locked=True):
                    return count
            except Exception:
                logger.exception("erasure %s failed", erasure)
        return 0

    def prune_expired(self) -> int:
        """Delete erasures that were done 30 days ago; returns their number."""
        return delete_in_batches(self.filter(done_at__lte=timezone.now() - KEPT_FOR))


class Erasure(models.Model):
    """An erased user or company, by pseudonym; until it is done, also by ids and addresses.

    `ids` are those of the user and the consultant profile, or of the company and its erased users,
    who share its pseudonym.
    """

    pseudonym = models.CharField(max_length=60, primary_key=True)
    alias = models.UUIDField()
    account_id = models.UUIDField("company ID", null=True)  # of a company that is deleted
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
        """Delete the users with all that is theirs, in a transaction that holds them. They are told
        by a last mail, with which their addresses go."""
        keys = [str(user.pk) for user in users]
        profiles = Consultant.objects.filter(user__in=users)
        emails = sorted({email for user in users for email in user.current_and_former_emails()})
        self.ids += [*keys, *(str(profile.pk) for profile in profiles)]
        self.emails += emails
        self.save()
        profiles.update(name="")
        EmailChange.delete_mails_of(users)
        User.objects.filter(pk__in=keys).delete()
        forget_in_sessions(keys)
        forget_emails(without_users(emails))
        notices = (Notice("erased", user.email, user.language) for user in users)
        OutgoingMail.objects.queue_notices(notices)

    def process_batch(self, *, skip_locked: bool = False) -> int:
        """Erase a batch of a company's users, or pseudonymise a batch of events; returns their
        number. Waits for a worker that is at this erasure, or does nothing (`skip_locked`)."""
        with transaction.atomic():
            locked = Erasure.objects.select_for_update(skip_locked=skip_locked)
            erasure = locked.filter(done_at=None, pk=self.pk).first()
            return erasure.process_locked() if erasure else 0

    def process_locked(self) -> int:
        """Without a batch it is done, once what was under way then has ended."""
        who = (self.alias, self.pseudonym, self.ids)
        emails, others = without_users(self.emails), self.events_of_company()
        count = self.delete_of_company() or pseudonymise_batch(*who, emails, others)
        if not count and not timedelta() <= timezone.now() - self.erased_at < SETTLED:
            forget_late_emails(emails)
            self.done_at, self.ids, self.emails = timezone.now(), [], []
            self.save()
        return count

    def delete_of_company(self) -> int:
        """Delete the next users of the company, then the company itself; returns the number."""
        if self.account_id is None:
            return 0
        users = User.objects.filter(account=self.account_id).select_for_update().order_by("pk")
        if batch := list(users[:USERS_AT_ONCE]):
            self.delete_users(batch)
            return len(batch)
        Invitation.objects.delete_all_of(self.account_id)
        return Account.objects.filter(pk=self.account_id).delete()[0]

    def events_of_company(self) -> models.QuerySet[AuditEvent]:
        """The company's events, except those about existing users, by id or address."""
        if self.account_id is None:
            return AuditEvent.objects.none()
        return AuditEvent.objects.filter(
            ~Exists(User.objects.filter(pk=OuterRef("subject_id"))),
            ~Exists(User.objects.filter(email=OuterRef("subject"))),
            account_id=self.account_id,
        )
