"""Lockout: the consecutive failures to sign in as one e-mail address, known or not.

With DEVICE_LOCKOUT each device that is known for an address has a record of its own, by the
device's id; strangers share the record whose device is "". Without it there is no other."""

from datetime import datetime, timedelta
from typing import NoReturn

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from audit import trail
from audit.models import Kind, Record
from audit.pruning import delete_in_batches
from throttling.errors import TooManyAttempts

MOST_DEVICES = 20  # of one e-mail address that have a record at a time
MOST_LOCKS_COUNTED = 10_000  # a table that an attacker fills is counted no further
FORGOTTEN_AFTER = timedelta(hours=24)  # a count without a failure for so long says nothing any more


def is_over(now: datetime) -> Q:
    """Records whose e-mail address is not locked."""
    return Q(locked_until=None) | Q(locked_until__lte=now)


class LockoutQuerySet(models.QuerySet["Lockout"]):
    """Lockouts. `email` is a canonical one, of at most 254 characters; `device`
    the id of a device that is known for it, or "" for strangers."""

    def locked(self) -> "LockoutQuerySet":
        """Records whose address is locked now."""
        return self.filter(locked_until__gt=timezone.now())

    def is_locked(self, email: str, device: str = "") -> bool:
        """Whether every way to sign in as this address is closed now, to strangers or a device."""
        return self.locked().filter(email=email, device=device).exists()

    def has_room(self, email: str, device: str) -> bool:
        """Whether a failure of the device may have a record of its own: an address has at most
        MOST_DEVICES. A device without room counts as a stranger."""
        devices = self.filter(email=email).exclude(device="")
        others = devices.exclude(device=device)[:MOST_DEVICES].count()
        return others < MOST_DEVICES or devices.filter(device=device).exists()

    def record_failure(self, email: str, device: str = "") -> bool:
        """Count a failure. False if the address was locked already, and nothing changed.
        The failure that locks is recorded in the audit log.

        One statement, so that of any number of parallel guesses precisely LOCKOUT_THRESHOLD are
        counted, however they interleave: PostgreSQL and SQLite both decide the WHERE on the row
        as its last writer left it. Call it in no transaction that the 401 may roll back.
        """
        now = timezone.now()
        moment = connection.ops.adapt_datetimefield_value
        lock = moment(now + timedelta(seconds=settings.LOCKOUT_SECONDS))
        values = {
            "email": email,
            "device": device,
            "now": moment(now),
            "forgotten": moment(now - FORGOTTEN_AFTER),
            "threshold": settings.LOCKOUT_THRESHOLD,
            "lock": lock,
            "first_lock": lock if settings.LOCKOUT_THRESHOLD <= 1 else None,
        }
        with connection.cursor() as cursor:
            cursor.execute(RECORD_FAILURE, values)
            counted = cursor.fetchone()
        if counted and counted[0]:
            detail = {"refusals_so_far": counted[1]} | ({"device": True} if device else {})
            trail.record(Kind.LOCK_SET, subject=email, **detail)
        return counted is not None

    def require_unlocked(self, email: str, device: str = "") -> None:
        """Raise TooManyAttempts, and count the refusal, while the address is locked."""
        if self.is_locked(email, device):
            self.refuse(email, device)

    def refuse(self, email: str, device: str = "") -> NoReturn:
        """Count a call refused by the address's lock, and raise TooManyAttempts. The first that
        meets it is recorded in the audit log, and no other: a flood at a locked address must not
        fill it."""
        locked = self.locked().filter(email=email, device=device)
        with transaction.atomic():
            locked.update(refusals=F("refusals") + 1)
            if locked.filter(met=False).update(met=True):
                trail.record(Kind.LOGIN_LOCKED, subject=email)
        raise TooManyAttempts

    def clear(self, email: str, device: str = "") -> None:
        """Forget the failures after a success. Raises TooManyAttempts if the address is locked now.

        Few addresses have a record, so we look first: one query, and no write. If there is one
        the DELETE's own condition decides, since a lock may fall at any moment.
        """
        records = self.filter(email=email, device=device)
        if records.exists():
            deleted, _ = records.filter(is_over(timezone.now())).delete()
            if not deleted:  # a parallel success may have been first
                self.require_unlocked(email, device)

    def unlock(
        self, email: str, actor: trail.Actor | None = None, kind: Kind = Kind.LOCK_CLEARED
    ) -> bool:
        """Delete the address's records in this queryset, strangers' and devices', and tell the
        audit log; whether there was any. PermissionDenied where `actor` may not clear it, as
        nobody may by rank alone: a thief of the session could guess the password on and on."""
        if actor is not None and kind == Kind.LOCK_CLEARED:
            actor.require_can_manage_email(email)
        with transaction.atomic():
            records = list(self.select_for_update().filter(email=email))
            if records:
                self.filter(pk__in=[record.pk for record in records]).delete()
                refusals = sum(record.refusals for record in records)
                trail.record(kind, actor=actor, subject=email, refusals=refusals)
        return bool(records)

    def count_locked(self) -> int:
        """The number of locked addresses, at most MOST_LOCKS_COUNTED."""
        return self.locked()[:MOST_LOCKS_COUNTED].count()

    def prune(self) -> int:
        """Delete the records without meaning: no failure for 24 hours, and no lock. How many."""
        now = timezone.now()
        return delete_in_batches(self.filter(is_over(now), failed_at__lte=now - FORGOTTEN_AFTER))


class Lockout(models.Model):
    """The consecutive failures of one address, and until when it is locked."""

    email = models.CharField(max_length=254)
    device = models.CharField(max_length=32, blank=True, default="", editable=False)
    failures = models.PositiveIntegerField()
    failed_at = models.DateTimeField(db_index=True)
    locked_until = models.DateTimeField(null=True)
    met = models.BooleanField(
        default=False, help_text="Whether a call was refused during this lockout."
    )
    refusals = models.PositiveIntegerField(
        default=0, help_text="Calls refused by lockouts since the user last signed in."
    )

    objects = LockoutQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["email", "device"], name="lockout_of_device"),
        ]

    def __str__(self) -> str:
        return self.email

    def sources(self) -> dict[str, int]:
        """From which client addresses the failures of the last 24 hours came, and how many: the
        ten that failed most often, from the audit log."""
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
INSERT INTO throttling_lockout AS record
    (email, device, failures, failed_at, locked_until, met, refusals)
VALUES (%(email)s, %(device)s, 1, %(now)s, %(first_lock)s, FALSE, 0)
ON CONFLICT (email, device) DO UPDATE SET
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
