"""Erasure: a user or company that is gone, and whose events are still being pseudonymised."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Self
from uuid import UUID

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts.models import Account, Consultant, User
from audit.models import Record
from audit.pruning import delete_in_batches
from audit.pseudonyms import pseudonymise
from emailchanges.models import EmailChange
from invitations.models import Invitation
from mail.links import KEPT_FOR, EmailedLink
from mail.notices import FORGOTTEN, Notice
from mail.outbox import WAITING, OutgoingMail
from throttling.models import Lockout

# A request that was under way at the erasure, a log-in that waits for its hash, say, may still
# write about the user. By then it has ended.
SETTLED = timedelta(seconds=30)
USERS_AT_ONCE = 100


def without_users(emails: Iterable[str]) -> set[str]:
    """The emails that no user has: a former address may belong to another user by now."""
    return set(emails) - set(User.objects.filter(email__in=emails).values_list("email", flat=True))


def forget_emails(emails: set[str]) -> None:
    """Delete what bears one of the emails and no foreign key: links, lockouts, mails."""
    for model in EmailedLink.kinds():
        model._default_manager.filter(email__in=emails).delete()
    Lockout.objects.filter(email__in=emails).delete()
    OutgoingMail.objects.filter(email__in=emails).exclude(kind__in=FORGOTTEN).delete()


def delete_invitations(account_id: UUID) -> None:
    invitations = Invitation.objects.filter(account=account_id)
    OutgoingMail.objects.filter(link_id__in=[one.pk for one in invitations]).delete()
    invitations.delete()


class ErasureQuerySet(models.QuerySet["Erasure"]):
    def pending(self) -> Self:
        return self.filter(done_at=None)

    def work_off(self, *, wait: bool = False) -> int:
        """Erase a batch of a company's users, or pseudonymise one of events; how many. Several
        processes may do so at once: they take different erasures, or `wait` for each other."""
        with transaction.atomic():
            free = self.pending().order_by("erased_at").select_for_update(skip_locked=not wait)
            return next((count for one in free if (count := one.work_off())), 0)

    def prune(self) -> int:
        """Delete those that were done 30 days ago; how many."""
        return delete_in_batches(self.filter(done_at__lte=timezone.now() - KEPT_FOR))


class Erasure(models.Model):
    """Who was erased, by pseudonym; until it is done also by what the log knows them.

    `ids` are of the user and the consultant's profile, or of the company and its users, as they are
    erased: a company's users share its pseudonym.
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

    def erase(self, users: list[User]) -> None:
        """Delete the users with all that is theirs, in a transaction that holds them. They are told
        by a last mail, with which their addresses go."""
        keys = [str(user.pk) for user in users]
        profiles = Consultant.objects.filter(user__in=users).values_list("pk", flat=True)
        emails = sorted({email for user in users for email in user.emails()})
        self.ids += [*keys, *map(str, profiles)]
        self.emails += emails
        self.save()
        changes = EmailChange.objects.filter(user__in=users).values("pk")
        OutgoingMail.objects.filter(link_id__in=changes).delete()
        OutgoingMail.objects.filter(
            kind=EmailChange._meta.label_lower, state__in=WAITING, context__user__in=keys
        ).delete()
        User.objects.filter(pk__in=keys).delete()
        forget_emails(without_users(emails))
        OutgoingMail.objects.queue_notices(
            Notice("erased", user.email, user.language) for user in users
        )

    def work_off(self) -> int:
        """Do a batch. Without one it is done, once what was under way then has ended."""
        count = self.erase_company() or pseudonymise(
            self.alias,
            self.pseudonym,
            self.ids,
            without_users(self.emails),
            self.events_of_company(),
        )
        if not count and self.erased_at <= timezone.now() - SETTLED:
            forget_emails(without_users(self.emails))
            self.done_at, self.ids, self.emails = timezone.now(), [], []
            self.save()
        return count

    def erase_company(self) -> int:
        """Erase the next users of the company, and then the company itself; how many rows."""
        if self.account_id is None:
            return 0
        users = User.objects.filter(account=self.account_id).select_for_update().order_by("pk")
        if batch := list(users[:USERS_AT_ONCE]):
            self.erase(batch)
            return len(batch)
        delete_invitations(self.account_id)
        return Account.objects.filter(pk=self.account_id).delete()[0]

    def events_of_company(self) -> models.QuerySet[Record]:
        """The company's events, but those about users who exist, by id or address."""
        if self.account_id is None:
            return Record.objects.none()
        users = User.objects.order_by()
        return Record.objects.filter(
            ~Exists(users.filter(pk=OuterRef("subject_id"))),
            ~Exists(users.filter(email=OuterRef("subject"))),
            account_id=self.account_id,
        )
