"""Lockout: the consecutive failed sign-in attempts for one e-mail address, registered or not.
NetworkLimit: the credential limit that an operator has set for a network."""

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
from base.compiled import Finder, Slot
from throttling.errors import TooManyAttempts

UNKNOWN_DEVICE = ""  # stands for all devices of an e-mail address that are not known
MOST_DEVICES = 20  # devices of one e-mail address that may have records of their own at a time
FORGET_FAILURES_AFTER = timedelta(hours=24)  # from the last failure


def is_not_locked(now: datetime) -> Q:
    """The condition of records that lock their e-mail address no longer, or never have."""
    return Q(locked_until=None) | Q(locked_until__lte=now)


class LockoutQuerySet(models.QuerySet["Lockout"]):
    """The rule of the lockout. In its methods `email` is a canonical address. `device` is the id of
    one of its known devices, or UNKNOWN_DEVICE: all unknown ones share a record."""

    def locked(self) -> "LockoutQuerySet":
        """The records that lock their address now."""
        return self.filter(locked_until__gt=timezone.now())

    def is_locked(self, email: str, device: str = UNKNOWN_DEVICE) -> bool:
        """Whether the address is locked now for the device."""
        record = find_record(email=email, device=device)
        return record is not None and record.is_locked()

    def has_room(self, email: str, device: str) -> bool:
        """Whether the device has a record of its own or may get one: at most MOST_DEVICES of an
        address have, a few more after parallel failures."""
        records = self.filter(email=email).exclude(device=UNKNOWN_DEVICE)
        other_devices = records.exclude(device=device)[:MOST_DEVICES].count()
        return other_devices < MOST_DEVICES or records.filter(device=device).exists()

    def record_failure(self, email: str, device: str = UNKNOWN_DEVICE) -> bool:
        """Count a failed attempt on the device. The LOCKOUT_THRESHOLD-th consecutive one locks the
        address for this device for LOCKOUT_SECONDS, with an audit event. Returns False, and changes
        nothing, while that lock holds. Counting begins anew FORGET_FAILURES_AFTER the last failure,
        and after a lock has ended. Never call this method in a transaction that the answer 401 may
        roll back."""
        now = timezone.now()
        as_stored = connection.ops.adapt_datetimefield_value
        lock_end = as_stored(now + timedelta(seconds=settings.LOCKOUT_SECONDS))
        values = {
            "email": email,
            "device": device,
            "now": as_stored(now),
            "forgotten": as_stored(now - FORGET_FAILURES_AFTER),
            "threshold": settings.LOCKOUT_THRESHOLD,
            "lock_end": lock_end,
            "first_lock_end": lock_end if settings.LOCKOUT_THRESHOLD <= 1 else None,
        }
        with connection.cursor() as cursor:
            cursor.execute(RECORD_FAILURE, values)
            row = cursor.fetchone()
        if row is None:
            return False
        locked_until, refusals = row
        if locked_until:
            detail = {"refusals_so_far": refusals} | ({"device": True} if device else {})
            audit.record(Kind.LOCK_SET, subject=email, **detail)
        return True

    def refuse(self, email: str, device: str = UNKNOWN_DEVICE) -> NoReturn:
        """Count a call that the address's lock for the device refuses, and raise TooManyAttempts,
        also if the lock has ended meanwhile. Only the first refusal of a lock is recorded in the
        audit log, so that attempts cannot fill it. The error rolls back the caller's transaction,
        and the count with it."""
        record = self.locked().filter(email=email, device=device)
        with transaction.atomic():
            record.update(refusals=F("refusals") + 1)
            if record.filter(refusal_recorded=False).update(refusal_recorded=True):
                audit.record(Kind.LOGIN_LOCKED, subject=email)
        raise TooManyAttempts

    def clear_or_refuse(self, email: str, device: str = UNKNOWN_DEVICE) -> None:
        """Delete the address's record for the device after a success there. If the record is a lock
        by now, count a refused call instead, and raise TooManyAttempts."""
        if find_record(email=email, device=device):  # of few addresses: the others save the write
            records = self.filter(email=email, device=device)
            deleted, _ = records.filter(is_not_locked(timezone.now())).delete()
            # If nothing was deleted without a lock, another success has deleted the record.
            if not deleted and self.is_locked(email, device):
                self.refuse(email, device)

    def unlock(self, email: str, actor: Actor) -> bool:
        """Unlock the address for all devices, and forget its failures. Returns False if it has no
        lock and no failures. The caller has checked that the actor may unlock addresses. Raises
        Django's PermissionDenied if a protected user has this address and the actor is no
        superuser."""
        actor.require_can_manage_email(email)
        return self.delete_records(email, actor, Kind.LOCK_CLEARED)

    def delete_records(self, email: str, actor: Actor, kind: Kind) -> bool:
        """Delete this queryset's records of the address, locked or not, and record this as `kind`,
        by the actor, in the audit log. Returns False, and records nothing, if there are none."""
        with transaction.atomic():
            records = list(self.select_for_update().filter(email=email))
            if records:
                self.filter(pk__in=[record.pk for record in records]).delete()
                refusals = sum(record.refusals for record in records)
                audit.record(kind, actor=actor, subject=email, refusals=refusals)
        return bool(records)

    def prune_expired(self) -> int:
        """Delete the records that lock nothing and whose last failure is FORGET_FAILURES_AFTER ago;
        returns their number. Also deletes, without counting them, records of failures over a day in
        the future, which a host with a wrong clock has written, even if they lock an address."""
        now = timezone.now()
        self.filter(failed_at__gt=now + FORGET_FAILURES_AFTER).delete()
        return delete_in_batches(
            self.filter(is_not_locked(now), failed_at__lte=now - FORGET_FAILURES_AFTER)
        )


class Lockout(models.Model):
    """The consecutive failures for one address on one known device or on all unknown devices, and
    until when they lock it."""

    email = models.CharField(max_length=254)
    device = models.CharField(max_length=32, blank=True, default=UNKNOWN_DEVICE, editable=False)
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
        """The number of failed attempts on any device in the last 24 hours by client address ("" if
        unknown), from the audit log: the ten client addresses with the most, the most first."""
        since = timezone.now() - FORGET_FAILURES_AFTER
        failures = AuditEvent.objects.filter(
            kind=Kind.LOGIN_FAILED, subject=self.email, at__gt=since
        )
        by_address = failures.values_list("address").annotate(times=Count("pk"))
        return dict(by_address.order_by("-times", "address")[:10])

    def is_locked(self) -> bool:
        """Whether this record locks its address now."""
        return self.locked_until is not None and self.locked_until > timezone.now()


# The record of a canonical address and a device.
find_record = Finder(
    lambda: Lockout.objects.filter(
        email=Slot("email", models.CharField()), device=Slot("device", models.CharField())
    )
)


class NetworkLimitManager(models.Manager["NetworkLimit"]):
    """Changes by a command, recorded in the audit log like those by the back office."""

    def set_limit(self, network: str, limit: int) -> tuple["NetworkLimit", bool]:
        """Let each address of the network, such as 203.0.113.0/24, make `limit` credential calls in
        a window. Returns the network's row, new or changed, and whether anything changed; a change
        is recorded in the audit log. Raises ValidationError for an invalid network or limit."""
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
        """Delete the network's row, with an audit event. Returns the network in canonical form, and
        whether it had a row. Raises ValidationError for an invalid network."""
        network = canonical_network(network)
        with transaction.atomic():
            row = self.select_for_update().filter(network=network).first()
            if row:
                audit.record_row(Kind.ADMIN_DELETED, row)
                row.delete()
        return network, row is not None


class NetworkLimit(models.Model):
    """A network, and the credential limit of each address in it."""

    network = models.CharField(
        max_length=43, unique=True, help_text="Such as 203.0.113.0/24 or 2001:db8:1::/48."
    )
    limit = models.PositiveIntegerField(
        validators=[MinValueValidator(1)],
        help_text="Credential calls in a window, for each address in the network.",
    )

    objects = NetworkLimitManager()
    is_protected = True  # only superusers and commands change it

    class Meta:
        ordering = ["network"]

    def __str__(self) -> str:
        return f"{self.network}={self.limit}"

    def clean(self) -> None:
        """Put the network into its canonical form. Raises ValidationError for an invalid one."""
        try:
            self.network = canonical_network(self.network)
        except ValidationError as error:
            raise ValidationError({"network": error}) from None


def canonical_network(text: str) -> str:
    """The network as rows store it: 203.0.113.9/24 becomes 203.0.113.0/24, and a bare IPv4 address
    a /32. Raises ValidationError for other texts, and for IPv6 networks smaller than a /64."""
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValidationError("Enter a network, such as 203.0.113.0/24.") from None
    if network.version == 6 and network.prefixlen > 64:  # IPv6 callers are counted by their /64
        raise ValidationError("An IPv6 network must be a /64 or larger.")
    return str(network)


# The WHERE excludes records that are still locked. It is evaluated on the row's latest version, so
# that of parallel guesses exactly LOCKOUT_THRESHOLD are let through.
RECORD_FAILURE = """
INSERT INTO throttling_lockout AS record
    (email, device, failures, failed_at, locked_until, met, refusals)
VALUES (%(email)s, %(device)s, 1, %(now)s, %(first_lock_end)s, FALSE, 0)
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
        WHEN record.failures + 1 >= %(threshold)s THEN %(lock_end)s
    END
WHERE record.locked_until IS NULL OR record.locked_until <= %(now)s
RETURNING locked_until, refusals
"""
