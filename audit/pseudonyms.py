"""Pseudonyms, which replace erased users and companies in the audit log. In PostgreSQL a trigger
refuses every other change of an event (migration 0008)."""

import uuid
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils.crypto import salted_hmac

from audit.models import AuditEvent, Kind

MAX_BATCH_EVENTS = 1000  # events that one transaction changes
PSEUDONYM_REGEX = r"^(erased-[0-9a-f]{16}|company [0-9a-f-]{36})$"
ADMIN_KINDS = [Kind.ADMIN_ADDED, Kind.ADMIN_CHANGED, Kind.ADMIN_DELETED]
# The keys of an event's `detail` whose values name its subject or the company, by kind.
KEYS_NAMING_SUBJECT: dict[str, list[str]] = {
    Kind.EMAIL_CHANGE_REQUESTED: ["new"],
    Kind.EMAIL_CHANGED: ["old"],
    Kind.EMAIL_CHANGE_UNDONE: ["undone"],
    Kind.COMPANY_CREATED: ["name"],
    Kind.COMPANY_CHANGED: ["old", "name"],
    **{kind: ["id"] for kind in ADMIN_KINDS},
}


def digest_of(pk: UUID) -> bytes:
    """A hash of an id under SECRET_KEY, 32 bytes: nobody finds the id without the key."""
    return salted_hmac("privacy.pseudonym", str(pk), algorithm="sha256").digest()


def alias_of(pk: UUID) -> UUID:
    """The id that replaces an erased user's or company's id in events."""
    return uuid.UUID(bytes=digest_of(pk)[:16], version=5)


def pseudonym_of(pk: UUID) -> str:
    """The text that replaces an erased user's addresses in events."""
    return f"erased-{digest_of(pk)[16:24].hex()}"


def is_pseudonym(text: str) -> bool:
    """Whether the text, an event's `subject` or `actor_email`, begins as pseudonyms do."""
    return text.startswith(("erased-", "company "))


def pseudonymise_batch(
    alias: UUID,
    pseudonym: str,
    ids: list[str],
    emails: Collection[str],
    company_events: QuerySet[AuditEvent],
) -> int:
    """Replace ids by the alias, and addresses and names by the pseudonym, in at most
    MAX_BATCH_EVENTS events, in the caller's transaction. Returns their number; call again until it
    is 0. PostgreSQL's trigger raises a DatabaseError for a pseudonym that PSEUDONYM_REGEX doesn't
    match, and while a user or company has one of the ids or addresses: delete the rows before.

    The actor is replaced in events by the erased `ids` (of users, profiles, companies and API keys,
    as texts). The subject is replaced in events about these ids, in events about the `emails`
    without a subject's id, and in all of `company_events`, none() for a user's erasure.
    """
    actor = {"actor_id": alias, "actor_email": pseudonym}
    subject = {"subject_id": alias, "subject": pseudonym}
    events = AuditEvent.objects.order_by()
    for matching_events, changes in [
        (events.filter(actor_id__in=ids, subject_id=F("actor_id")), actor | subject),
        (events.filter(actor_id__in=ids), actor),
        (events.filter(subject_id__in=ids), subject),
        (events.filter(subject_id=None, subject__in=emails), subject),
        # Events of 1.0.0's back office, which the log may still have.
        (events.filter(subject_id=None, kind__in=ADMIN_KINDS, detail__id__in=ids), subject),
        (company_events.order_by().exclude(subject__regex=PSEUDONYM_REGEX), subject),
    ]:
        if batch := list(matching_events[:MAX_BATCH_EVENTS]):
            return save_pseudonym(batch, changes)
    return 0


def save_pseudonym(batch: list[AuditEvent], changes: dict[str, Any]) -> int:
    """Write `changes`, new values by column, to each event; returns the number of events. A new
    `subject` also replaces the values in an event's `detail` under KEYS_NAMING_SUBJECT."""
    keys_by_kind = KEYS_NAMING_SUBJECT if "subject" in changes else {}
    unnamed = [event.pk for event in batch if event.kind not in keys_by_kind]
    AuditEvent.objects.filter(pk__in=unnamed).update(**changes)
    for event in batch:
        if keys := keys_by_kind.get(event.kind):
            names = {key: changes["subject"] for key in keys if key in event.detail}
            AuditEvent.objects.filter(pk=event.pk).update(**changes, detail=event.detail | names)
    return len(batch)
