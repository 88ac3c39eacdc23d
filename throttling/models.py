"""Lockout: the consecutive failures to sign in as one e-mail address, known or not."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connections, models, transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from audit import trail
from audit.models import Kind, Record
from audit.pruning import delete_in_batches

FORGOTTEN_AFTER = timedelta(hours=24)  # a count without a failure for so long says nothing any more


def is_over(now: datetime) -> Q:
    """Records whose address is not locked."""
    return Q(locked_until=None) | Q(locked_until__lte=now)


class LockoutQuerySet(models.QuerySet["Lockout"]):
    """What is known of addresses. `email` is a canonical one, of at most 254 characters."""

    def locked(self) -> "LockoutQuerySet":
        """Records whose address is locked now."""
        return self.filter(locked_until__gt=timezone.now())

    def forgotten(self) -> "LockoutQuerySet":
        """Records that say nothing any more: no failure for 24 hours, and no lock."""
        now = timezone.now()
        return self.filter(is_over(now), failed_at__lte=now - FORGOTTEN_AFTER)

    def is_locked(self, email: str) -> bool:
        """Whether every way to sign in as this address is closed now."""
        return self.locked().filter(email=email).exists()

    def record_failure(self, email: str) -> bool:
        """Count a failure. False when the address was locked already: nothing has changed then.
        The failure that locks is recorded in the audit trail.

        One statement, so that of any number of parallel guesses precisely LOCKOUT_THRESHOLD are
        counted, however they interleave: PostgreSQL and SQLite both decide the WHERE on the row
        as its last writer left it. Call it in no transaction that the 401 may roll back.
        """
        now = timezone.now()
        connection = connections[self.db]
        moment = connection.ops.adapt_datetimefield_value
        threshold = settings.LOCKOUT_THRESHOLD
        lock = moment(now + timedelta(seconds=settings.LOCKOUT_SECONDS))
        values = {
            "email": email,
            "now": moment(now),
            "forgotten": moment(now - FORGOTTEN_AFTER),
            "threshold": threshold,
            "lock": lock,
            "first_lock": lock if threshold <= 1 else None,
        }
        with connection.cursor() as cursor:
            cursor.execute(RECORD_FAILURE, values)
            counted = cursor.fetchone()
        if counted and counted[0]:
            trail.record(Kind.LOCK_SET, subject=email, refusals_so_far=counted[1])
        return counted is not None

    def record_refusal(self, email: str) -> None:
        """Count a call that met the address's lock. The first that meets it is recorded in the
        audit trail, and no other: a flood at a locked address must not fill it."""
        locked = self.locked().filter(email=email)
        with transaction.atomic(using=self.db):
            locked.update(refusals=F("refusals") + 1)
            if locked.filter(met=False).update(met=True):
                trail.record(Kind.LOGIN_LOCKED, subject=email)

    def clear_unless_locked(self, email: str) -> bool:
        """Forget the failures after a success. False when the address is locked now.

        Nearly nobody has a record, so we look first: one query, and no write. Where there is one
        the DELETE's own condition decides, since a lock may fall at any moment.
        """
        record = self.filter(email=email).first()
        if record is None or record.is_locked():
            return record is None
        deleted, _ = self.filter(is_over(timezone.now()), email=email).delete()
        return bool(deleted) or not self.is_locked(email)  # a parallel success may have been first

    def unlock(self, email: str, actor: trail.Person | None = None) -> bool:
        """Delete the address's record, and tell the audit trail; whether there was one."""
        with transaction.atomic(using=self.db):
            lockout = self.select_for_update().filter(email=email).first()
            if lockout:
                lockout.delete()
                refusals = lockout.refusals
                trail.record(Kind.LOCK_CLEARED, actor=actor, subject=email, refusals=refusals)
        return lockout is not None

    def prune(self) -> int:
        """Delete the forgotten records; how many."""
        return delete_in_batches(self.forgotten())


class Lockout(models.Model):
    """The failures in a row of one address, and until when it is locked."""

    email = models.CharField(max_length=254, unique=True)
    failures = models.PositiveIntegerField()
    failed_at = models.DateTimeField(db_index=True)
    locked_until = models.DateTimeField(null=True)
    met = models.BooleanField(default=False, help_text="Whether a call has met the present lock.")
    refusals = models.PositiveIntegerField(
        default=0, help_text="Calls refused for a lock since the address last signed in."
    )

    objects = LockoutQuerySet.as_manager()

    def __str__(self) -> str:
        return self.email

    def sources(self) -> dict[str, int]:
        """From which client addresses the failures of the last 24 hours came, and how many: the
        ten that failed most often, from the audit trail."""
        failures = Record.objects.filter(
            kind=Kind.LOGIN_FAILED, subject=self.email, at__gt=timezone.now() - FORGOTTEN_AFTER
        )
        counted = failures.values_list("address").annotate(times=Count("pk"))
        return dict(counted.order_by("-times", "address")[:10])

    def is_locked(self) -> bool:
        return self.locked_until is not None and self.locked_until > timezone.now()


# A forgotten count begins anew, and so does one that has locked: its lock must be over, since the
# WHERE excludes records with a lock that lasts.
RECORD_FAILURE = """
INSERT INTO throttling_lockout AS record (email, failures, failed_at, locked_until, met, refusals)
VALUES (%(email)s, 1, %(now)s, %(first_lock)s, FALSE, 0)
ON CONFLICT (email) DO UPDATE SET
    failed_at = excluded.failed_at,
    met = FALSE,
    failures = CASE
        WHEN record.locked_until IS NOT NULL OR record.failed_at <= %(forgotten)s THEN 1
        ELSE record.failures + 1
    END,
    locked_until = CASE
        WHEN record.locked_until IS NOT NULL OR record.failed_at <= %(forgotten)s
            THEN excluded.locked_until
        WHEN record.failures + 1 >= %(threshold)s THEN %(lock)s
    END
WHERE record.locked_until IS NULL OR record.locked_until <= %(now)s
RETURNING locked_until, refusals
"""
