"""Pseudonyms: the log keeps its events about users who were erased, under another name.

Events are found by index: by the id of who acted, by the id of whom it was done to, and, where an
event has no such id, by the exact address. PostgreSQL lets an event change in no other way
(migration 0005).
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils.crypto import salted_hmac

from audit.models import Kind, Record

BATCH = 1000  # events a transaction
CHANGED = ["actor_id", "actor_email", "subject_id", "subject"]
ADMIN_KINDS = [Kind.ADMIN_ADDED, Kind.ADMIN_CHANGED, Kind.ADMIN_DELETED]
# The parts of `detail` that name whom the event is about.
NAMING: dict[str, list[str]] = {
    Kind.EMAIL_CHANGE_REQUESTED: ["new"],
    Kind.EMAIL_CHANGED: ["old"],
    Kind.EMAIL_CHANGE_UNDONE: ["undone"],
    **{key: ["id"] for key in ADMIN_KINDS},
}
NAMING_COMPANIES: dict[str, list[str]] = {
    Kind.COMPANY_CREATED: ["name"],
    Kind.COMPANY_CHANGED: ["old", "name"],
}


def digest_of(pk: UUID) -> bytes:
    """A keyed hash of an id: without SECRET_KEY nobody can trace the pseudonym."""
    return salted_hmac("privacy.pseudonym", str(pk), algorithm="sha256").digest()


def alias_of(pk: UUID) -> UUID:
    """Replaces an erased id."""
    return uuid.UUID(bytes=digest_of(pk)[:16], version=5)


def pseudonym_of(pk: UUID) -> str:
    """Replaces an erased user's addresses."""
    return f"erased-{digest_of(pk)[16:24].hex()}"


def is_pseudonym(text: str) -> bool:
    return text.startswith(("erased-", "company "))


@dataclass
class Erased:
    """A user who is gone, or a row that was named after somebody: how events may know them.

    `names` are of a consultant's profile or a company, for events of 1.0.0, which have no id.
    """

    alias: UUID
    pseudonym: str
    ids: set[UUID]
    emails: set[str]
    names: set[str] = field(default_factory=set)


def pseudonymise(people: Iterable[Erased]) -> int:
    """Put pseudonyms into up to BATCH events by or about these; how many were changed."""
    by_id = {pk: one for one in people for pk in one.ids}
    by_email = {email: one for one in people for email in one.emails}
    by_name = {name: one for one in people for name in one.names}
    events = Record.objects.order_by()
    without_id = events.filter(subject_id=None)
    of_rows = without_id.filter(kind__in=ADMIN_KINDS, detail__id__in=[str(pk) for pk in by_id])
    batch = (
        list(events.filter(actor_id__in=by_id)[:BATCH])
        or list(events.filter(subject_id__in=by_id)[:BATCH])
        or list(without_id.filter(subject__in=by_email)[:BATCH])
        or list(of_rows.filter(subject__in=by_name)[:BATCH])
    )
    for event in batch:
        about = by_id.get(event.subject_id) if event.subject_id else by_email.get(event.subject)
        if event.actor_id and (actor := by_id.get(event.actor_id)):
            is_about_actor = event.subject_id is None and event.subject == event.actor_email
            about = about or (actor if is_about_actor else None)
            event.actor_id, event.actor_email = actor.alias, actor.pseudonym
        elif about is None:
            about = by_name.get(event.subject)
        if about:
            rename(event, about)
    return save(batch)


def rename(event: Record, about: Erased) -> None:
    """Make the event name a pseudonym."""
    forget_names(event, about.pseudonym, NAMING)
    event.subject_id, event.subject = about.alias, about.pseudonym


def rename_by_id(event: Record, pk: UUID) -> None:
    forget_names(event, pseudonym_of(pk), NAMING)
    event.subject_id, event.subject = alias_of(pk), pseudonym_of(pk)


def forget_names(event: Record, pseudonym: str, naming: dict[str, list[str]]) -> None:
    for name in naming.get(event.kind, []):
        if name in event.detail:
            event.detail[name] = pseudonym


def pseudonymise_company(
    company: Erased, batch: list[Record], people: set[UUID], emails: set[str]
) -> int:
    """Put pseudonyms into these events of a deleted company: in the place of its name, of whom it
    invited, and of its users. The users and addresses in `people` and `emails` exist, and stay."""
    for event in batch:
        forget_names(event, company.pseudonym, NAMING_COMPANIES)
        actor_id, about_id = event.actor_id, event.subject_id
        if actor_id and actor_id not in people and not is_pseudonym(event.actor_email):
            if about_id is None and event.subject == event.actor_email:
                about_id = actor_id
            event.actor_id, event.actor_email = alias_of(actor_id), pseudonym_of(actor_id)
        if about_id in people or event.subject in emails or is_pseudonym(event.subject):
            continue
        if about_id is None or about_id in company.ids:
            rename(event, company)
        else:
            rename_by_id(event, about_id)
    return save(batch)


def save(batch: list[Record]) -> int:
    """Save the events, those that have become equal by one statement; how many."""
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for event in batch:
        if event.kind in NAMING or event.kind in NAMING_COMPANIES:
            event.save(update_fields=[*CHANGED, "detail"])
        else:
            alike[tuple(getattr(event, name) for name in CHANGED)].append(event.pk)
    for values, ids in alike.items():
        changes: Any = dict(zip(CHANGED, values, strict=True))
        Record.objects.filter(pk__in=ids).update(**changes)
    return len(batch)
