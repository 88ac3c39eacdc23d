"""Erasure: a user or company that is gone, and whose events are still being pseudonymised."""

from datetime import timedelta
from typing import Self
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import Account, Consultant, User
from audit.models import Record
from audit.pruning import delete_in_batches
from audit.pseudonyms import (
    BATCH,
    Erased,
    alias_of,
    pseudonym_of,
    pseudonymise,
    pseudonymise_company,
)
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
ERASURES_AT_ONCE = 1000
EXPORT_ENDS = timedelta(minutes=2)


def without_users(emails: set[str]) -> set[str]:
    """The emails that no user has: a former address may belong to another user by now."""
    return emails - set(User.objects.filter(email__in=emails).values_list("email", flat=True))


def forget_emails(emails: set[str]) -> None:
    """Delete what bears one of the emails and no foreign key: links, lockouts, mails."""
    for model in EmailedLink.kinds():
        model._default_manager.filter(email__in=emails).delete()
    Lockout.objects.filter(email__in=emails).delete()
    OutgoingMail.objects.filter(email__in=emails).exclude(kind__in=FORGOTTEN).delete()


def delete_invitations(account_id: UUID | None) -> None:
    invitations = Invitation.objects.filter(account=account_id)
    OutgoingMail.objects.filter(link_id__in=[one.pk for one in invitations]).delete()
    invitations.delete()


class ErasureQuerySet(models.QuerySet["Erasure"]):
    def pending(self) -> Self:
        return self.filter(done_at=None)

    def erase_users(self, users: list[User]) -> list["Erasure"]:
        """Delete the users with all that is theirs, in a transaction that holds them. They are told
        by a last mail, with which their addresses go."""
        profiles = {one.user_id: one for one in Consultant.objects.filter(user__in=users)}
        erasures = []
        for user in users:
            one = Erasure(pseudonym=pseudonym_of(user.pk), alias=alias_of(user.pk))
            one.ids, one.emails = [str(user.pk)], sorted(user.emails())
            if profile := profiles.get(user.pk):
                one.ids.append(str(profile.pk))
                one.names = [profile.name] if profile.name else []
            erasures.append(one)
        self.bulk_create(erasures)
        changes = EmailChange.objects.filter(user__in=users)
        OutgoingMail.objects.filter(link_id__in=changes.values("pk")).delete()
        OutgoingMail.objects.filter(
            kind=EmailChange._meta.label_lower,
            state__in=WAITING,
            context__user__in=[str(user.pk) for user in users],
        ).delete()
        User.objects.filter(pk__in=[user.pk for user in users]).delete()
        forget_emails(without_users({email for one in erasures for email in one.emails}))
        OutgoingMail.objects.queue_notices(
            Notice("erased", one.email, one.language) for one in users
        )
        return erasures

    def begin_company(self, account: Account) -> tuple["Erasure", bool]:
        """Note that a company is to be erased; False if it is already."""
        alias = alias_of(account.pk)
        about = {"account_id": account.pk, "ids": [str(account.pk)], "names": [account.name]}
        pseudonym = f"company {account.pk}"
        return self.get_or_create(pseudonym=pseudonym, defaults=about | {"alias": alias})

    def work_off(self, *, wait: bool = False) -> int:
        """Erase a batch of a company's users, or pseudonymise one of events; how many. Several
        processes may do so at once: they take different erasures, or `wait` for each other.

        An erasure of which no event is left is done, once what was under way then has ended.
        """
        with transaction.atomic():
            free = self.pending().order_by("erased_at").select_for_update(skip_locked=not wait)
            company = free.filter(account_id__isnull=False, is_walked=False).first()
            if company is not None:
                return company.erase_users() or company.walk()
            return work_through(list(free[:ERASURES_AT_ONCE]))

    def prune(self) -> int:
        """Delete those that were done 30 days ago; how many."""
        return delete_in_batches(self.filter(done_at__lte=timezone.now() - KEPT_FOR))


def work_through(erasures: list["Erasure"]) -> int:
    """Pseudonymise a batch of the events of these; how many."""
    free = without_users({email for one in erasures for email in one.emails})
    changed = pseudonymise([one.as_erased(free) for one in erasures])
    settled = [one for one in erasures if one.erased_at <= timezone.now() - SETTLED]
    if not changed and settled:
        forget_emails(free & {email for one in settled for email in one.emails})
        done = Erasure.objects.filter(pk__in=[one.pk for one in settled])
        done.update(done_at=timezone.now(), ids=[], emails=[], names=[])
    return changed


class Erasure(models.Model):
    """Who was erased, by pseudonym; until it is done also by what the log knows them.

    `ids` are of the user and the consultant's profile, or of the company; `names` is what the
    profile or company was called.
    """

    pseudonym = models.CharField(max_length=60, primary_key=True)
    alias = models.UUIDField()
    account_id = models.UUIDField("company (id)", null=True)  # of a company that is deleted
    ids = models.JSONField(default=list)
    emails = models.JSONField(default=list)
    names = models.JSONField(default=list)
    erased_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)
    # How far the events of a company have been walked through, by time and id.
    is_walked = models.BooleanField(default=False)
    walked_to = models.DateTimeField(null=True)
    walked_to_id = models.BigIntegerField(default=0)

    objects = ErasureQuerySet.as_manager()

    class Meta:
        ordering = ["-erased_at"]
        indexes = [
            models.Index(fields=["erased_at"], condition=Q(done_at=None), name="erasure_pending"),
        ]

    def __str__(self) -> str:
        return str(self.pseudonym)

    def as_erased(self, emails: set[str]) -> Erased:
        ids = {UUID(pk) for pk in self.ids}
        known = emails & set(self.emails)
        return Erased(self.alias, self.pseudonym, ids, known, set(self.names))

    def erase_users(self) -> int:
        """Erase the next users of the company, and then the company itself; how many rows."""
        users = User.objects.filter(account=self.account_id).select_for_update().order_by("pk")
        if batch := list(users[:USERS_AT_ONCE]):
            return len(Erasure.objects.erase_users(batch))
        delete_invitations(self.account_id)
        deleted, _ = Account.objects.filter(pk__in=[self.account_id]).delete()
        return deleted

    def walk(self) -> int:
        """Pseudonymise the next batch of the company's own events; how many were looked at."""
        events = Record.objects.filter(account_id=self.account_id)
        if self.walked_to:
            is_later = Q(at__gt=self.walked_to) | Q(pk__gt=self.walked_to_id)
            events = events.filter(is_later, at__gte=self.walked_to)
        batch = list(events.order_by("at", "pk")[:BATCH])
        self.is_walked = not batch
        if batch:
            ids = {pk for one in batch for pk in (one.actor_id, one.subject_id) if pk}
            people = User.objects.filter(pk__in=ids).values_list("pk", flat=True)
            emails = {one.subject for one in batch}
            existing = emails - without_users(emails)
            pseudonymise_company(self.as_erased(set()), batch, set(people), existing)
            self.walked_to, self.walked_to_id = batch[-1].at, batch[-1].pk
        self.save(update_fields=["is_walked", "walked_to", "walked_to_id"])
        return len(batch)


class ExportUnderWayManager(models.Manager["ExportUnderWay"]):
    def begin(self, user: User) -> bool:
        """Whether the user may have an export now. The unique row decides between parallel calls;
        that of a process which was killed counts for EXPORT_ENDS no longer."""
        self.filter(begun_at__lte=timezone.now() - EXPORT_ENDS).delete()
        try:
            with transaction.atomic():
                self.create(user=user)
        except IntegrityError:
            return False
        return True

    def end(self, user: User) -> None:
        self.filter(user=user).delete()


class ExportUnderWay(models.Model):
    """A user's data is just being read."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True)
    begun_at = models.DateTimeField(default=timezone.now)

    objects = ExportUnderWayManager()

    def __str__(self) -> str:
        return str(self.user_id)
