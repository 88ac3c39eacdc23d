"""Pseudonyms, under which the audit log keeps events about erased users and companies.

Events are found by index: by the actor's id, the subject's id or, without an id, by the exact
address. In PostgreSQL a trigger allows no other change of an event (migration 0008).
"""

import uuid
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils.crypto import salted_hmac

from audit.models import AuditEvent, Kind

MAX_BATCH_EVENTS = 1000  # events a transaction
PSEUDONYM_REGEX = r"^(erased-[0-9a-f]{16}|company [0-9a-f-]{36})$"
ADMIN_KINDS = [Kind.ADMIN_ADDED, Kind.ADMIN_CHANGED, Kind.ADMIN_DELETED]
# The parts of `detail` that name whom the event is about.
KEYS_NAMING_SUBJECT: dict[str, list[str]] = {
    Kind.EMAIL_CHANGE_REQUESTED: ["new"],
    Kind.EMAIL_CHANGED: ["old"],
    Kind.EMAIL_CHANGE_UNDONE: ["undone"],
    Kind.COMPANY_CREATED: ["name"],
    Kind.COMPANY_CHANGED: ["old", "name"],
    **{key: ["id"] for key in ADMIN_KINDS},
}


def digest_of(pk: UUID) -> bytes:
    """A keyed hash of an id: without SECRET_KEY the pseudonym cannot be traced back."""
    return salted_hmac("privacy.pseudonym", str(pk), algorithm="sha256").digest()


def alias_of(pk: UUID) -> UUID:
    """Replaces an erased id."""
    return uuid.UUID(bytes=digest_of(pk)[:16], version=5)


def pseudonym_of(pk: UUID) -> str:
    """Replaces an erased user's addresses."""
    return f"erased-{digest_of(pk)[16:24].hex()}"


def is_pseudonym(text: str) -> bool:
    return text.startswith(("erased-", "company "))


def pseudonymise_batch(
    alias: UUID,
    pseudonym: str,
    ids: list[str],
    emails: Collection[str],
    others: QuerySet[AuditEvent],
) -> int:
    """Put the pseudonym into MAX_BATCH_EVENTS events at most, and return their number: events by or about
    these ids, events without an id about these addresses, and `others`."""
    actor = {"actor_id": alias, "actor_email": pseudonym}
    subject = {"subject_id": alias, "subject": pseudonym}
    events = AuditEvent.objects.order_by()
    without_id = events.filter(subject_id=None)
    own = Q(subject_id=F("actor_id")) | Q(subject_id=None, subject=F("actor_email"))
    for found, changes in [
        (events.filter(own, actor_id__in=ids), actor | subject),
        (events.filter(actor_id__in=ids), actor),
        (events.filter(subject_id__in=ids), subject),
        (without_id.filter(subject__in=emails), subject),
        (without_id.filter(kind__in=ADMIN_KINDS, detail__id__in=ids), subject),  # of 1.0.0
        (others.order_by().exclude(subject__regex=PSEUDONYM_REGEX), subject),
    ]:
        if batch := list(found[:MAX_BATCH_EVENTS]):
            return save_pseudonym(batch, changes)
    return 0


def save_pseudonym(batch: list[AuditEvent], changes: dict[str, Any]) -> int:
    """Save the changes of the events, with the parts of `detail` that name the subject."""
    keys_by_kind = KEYS_NAMING_SUBJECT if "subject" in changes else {}
    alike_ids = [event.pk for event in batch if event.kind not in keys_by_kind]
    AuditEvent.objects.filter(pk__in=alike_ids).update(**changes)
    for event in batch:
        if parts := keys_by_kind.get(event.kind):
            names = {part: changes["subject"] for part in parts if part in event.detail}
            AuditEvent.objects.filter(pk=event.pk).update(**changes, detail=event.detail | names)
    return len(batch)
