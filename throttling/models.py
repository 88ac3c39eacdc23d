"""Lockout: the consecutive failed sign-in attempts for one e-mail address, registered or not.

With DEVICE_LOCKOUT each known device of an address has a record of its own, by the device's id.
All other devices share the record whose device is ""."""

from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import NoReturn

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import connection, models, transaction
from django.db.models import Count, F, Q
from django.utils import timezone

import audit
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from base.batches import delete_in_batches
from throttling.errors import TooManyAttempts

MOST_DEVICES = 20  # of one e-mail address that have a record at a time
FORGET_FAILURES_AFTER = timedelta(hours=24)  # after the last failure


def is_not_locked(now: datetime) -> Q:
    """Records whose e-mail address is not locked."""
    return Q(locked_until=None) | Q(locked_until__lte=now)


class LockoutQuerySet(models.QuerySet["Lockout"]):
    """`email` is a canonical address of at most 254 characters; `device` is the id of one of its
    known devices, or "" for unknown devices."""

    def locked(self) -> "LockoutQuerySet":
        """Records whose address is locked now."""
        return self.filter(locked_until__gt=timezone.now())

    def is_locked(self, email: str, device: str = "") -> bool:
        """Whether the address is locked now, for unknown devices or for this one."""
        now = timezone.now()
        return self.filter(email=email, device=device, locked_until__gt=now).exists()

    def has_room(self, email: str, device: str) -> bool:
        """Whether the device may have its own record: an address has at most MOST_DEVICES. A device
        without room counts as unknown."""
        devices = self.filter(email=email).exclude(device="")
        others = devices.exclude(device=device)[:MOST_DEVICES].count()
        return others < MOST_DEVICES or devices.filter(device=device).exists()

    def record_failure(self, email: str, device: str = "") -> bool:
        """Count a failure. False if the address was locked already, and nothing changed.
        The failure that locks is recorded in the audit log.

        One statement, so that exactly LOCKOUT_THRESHOLD of any number of parallel guesses are
        counted: PostgreSQL and SQLite both evaluate the WHERE on the row's latest version. Never
        call it in a transaction that the 401 may roll back.
        """
        now = timezone.now()
        moment = connection.ops.adapt_datetimefield_value
        lock = moment(now + timedelta(seconds=settings.LOCKOUT_SECONDS))
        values = {
            "email": email,
            "device": device,
            "now": moment(now),
            "forgotten": moment(now - FORGET_FAILURES_AFTER),
            "threshold": settings.LOCKOUT_THRESHOLD,
            "lock": lock,
            "first_lock": lock if settings.LOCKOUT_THRESHOLD <= 1 else None,
        }
        with connection.cursor() as cursor:
            cursor.execute(RECORD_FAILURE, values)
            counted = cursor.fetchone()
        if counted and counted[0]:
            detail = {"refusals_so_far": counted[1]} | ({"device": True} if device else {})
            audit.record(Kind.LOCK_SET, subject=email, **detail)
        return counted is not None

    def refuse(self, email: str, device: str = "") -> NoReturn:
        """Count a call refused by the address's lock, and raise TooManyAttempts. Only the first one
        is recorded in the audit log, so that attempts on a locked address cannot fill it."""
        locked = self.locked().filter(email=email, device=device)
        with transaction.atomic():
            locked.update(refusals=F("refusals") + 1)
            if locked.filter(refusal_recorded=False).update(refusal_recorded=True):
                audit.record(Kind.LOGIN_LOCKED, subject=email)
        raise TooManyAttempts

    def clear_or_refuse(self, email: str, device: str = "") -> None:
        """Forget the failures after a success. Raises TooManyAttempts if the address is locked now.

        Few addresses have a record, so it looks first, which takes one query and no write. The
        DELETE has its own condition, since a lock may begin at any moment.
        """
        records = self.filter(email=email, device=device)
        if records.exists():
            deleted, _ = records.filter(is_not_locked(timezone.now())).delete()
            if not deleted and self.is_locked(email, device):  # else another success was first
                self.refuse(email, device)

    def unlock(self, email: str, actor: Actor, kind: Kind = Kind.LOCK_CLEARED) -> bool:
        """Delete the address's records in this queryset, of all devices, and record it in the audit
        log. Returns whether there were any. Raises PermissionDenied if `actor` may not act on the
        address's user."""
        if kind == Kind.LOCK_CLEARED:
            actor.require_can_manage_email(email)
        with transaction.atomic():
            records = list(self.select_for_update().filter(email=email))
            if records:
                self.filter(pk__in=[record.pk for record in records]).delete()
                refusals = sum(record.refusals for record in records)
                audit.record(kind, actor=actor, subject=email, refusals=refusals)
        return bool(records)

    def prune_expired(self) -> int:
        """Delete records without a lock, and without a failure for 24 hours; their number. Those
        that failed in more than a day are left by a clock that was ahead."""
        now = timezone.now()
        self.filter(failed_at__gt=now + FORGET_FAILURES_AFTER).delete()
        return delete_in_batches(
            self.filter(is_not_locked(now), failed_at__lte=now - FORGET_FAILURES_AFTER)
        )


class Lockout(models.Model):
    """The consecutive failures of one address, and until when it is locked."""

    email = models.CharField(max_length=254)
    device = models.CharField(max_length=32, blank=True, default="", editable=False)
    failures = models.PositiveIntegerField()
    failed_at = models.DateTimeField(db_index=True)
    locked_until = models.DateTimeField(null=True)
    refusal_recorded = models.BooleanField(
        default=False, db_column="met", help_text="In the audit log, during this lockout."
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

    def failure_sources(self) -> dict[str, int]:
        """The ten client addresses with the most failed attempts in the last 24 hours, and their
        numbers; from the audit log."""
        since = timezone.now() - FORGET_FAILURES_AFTER
        failures = AuditEvent.objects.filter(
            kind=Kind.LOGIN_FAILED, subject=self.email, at__gt=since
        )
        counted = failures.values_list("address").annotate(times=Count("pk"))
        return dict(counted.order_by("-times", "address")[:10])

    def is_locked(self) -> bool:
        return self.locked_until is not None and self.locked_until > timezone.now()


class NetworkLimitManager(models.Manager["NetworkLimit"]):
    """Changes by a command. They are recorded in the audit log like those by the back office."""

    def set_limit(self, network: str, limit: int) -> tuple["NetworkLimit", bool]:
        """The network's row, added or changed to this limit, and whether anything changed. Raises
        ValidationError."""
        row = NetworkLimit(network=network, limit=limit)
        row.clean_fields()
        row.clean()
        with transaction.atomic():
            rows = self.select_for_update()
            row, is_new = rows.get_or_create(network=row.network, defaults={"limit": limit})
            is_changed = row.limit != limit
            if is_changed:
                row.limit = limit
                row.save()
                audit.record_row(Kind.ADMIN_CHANGED, row, fields=["Limit"])
            elif is_new:
                audit.record_row(Kind.ADMIN_ADDED, row)
        return row, is_new or is_changed

    def remove_limit(self, network: str) -> tuple[str, bool]:
        """Delete the network's row. Returns the network in its canonical form, and whether it had a
        row. Raises ValidationError."""
        network = canonical_network(network)
        with transaction.atomic():
            row = self.select_for_update().filter(network=network).first()
            if row:
                audit.record_row(Kind.ADMIN_DELETED, row)
                row.delete()
        return network, row is not None


class NetworkLimit(models.Model):
    """The credential limit of each address in a network."""

    network = models.CharField(
        max_length=43, unique=True, help_text="Such as 203.0.113.0/24 or 2001:db8:1::/48."
    )
    limit = models.PositiveIntegerField(
        validators=[MinValueValidator(1)],
        help_text="Credential calls in a window, for each address in the network.",
    )

    objects = NetworkLimitManager()
    is_protected = True  # only superusers change it

    class Meta:
        ordering = ["network"]

    def __str__(self) -> str:
        return f"{self.network}={self.limit}"

    def clean(self) -> None:
        try:
            self.network = canonical_network(self.network)
        except ValidationError as error:
            raise ValidationError({"network": error}) from None


def canonical_network(text: str) -> str:
    """The network as rows have it, without bits of a host. Raises ValidationError."""
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValidationError("Enter a network, such as 203.0.113.0/24.") from None
    if network.version == 6 and network.prefixlen > 64:  # by which IPv6 callers are counted
        raise ValidationError("An IPv6 network must be a /64 or larger.")
    return str(network)


# The count begins anew after FORGET_FAILURES_AFTER, and after a lock. That lock must be over, since the
# WHERE excludes records that are still locked.
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
