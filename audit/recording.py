"""Adds events to the audit log, whose texts are limited in length and made printable. An event
takes one INSERT, and one log line after the commit."""

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from audit.actors import COMMAND, Actor
from base.caller import Caller, current_caller
from base.text import map_texts, printable_text
from metrics import series

if TYPE_CHECKING:
    from audit.models import Kind

logger = logging.getLogger("audit")

MAX_CLAIM_CHARACTERS = 100  # of a text that a client says about itself
MAX_AGENT_CHARACTERS = 254  # of a user agent: browsers name themselves at its end
MAX_TEXT_CHARACTERS = 254  # of any other text


class Subject(NamedTuple):
    """Whom or what an event is about, if it is not an Actor."""

    pk: UUID | None  # None for what has no UUID, such as an address
    name: str


def record(
    kind: "Kind",
    *,
    actor: Actor = COMMAND,
    subject: Actor | Subject | str | None = None,
    account_id: UUID | None = None,
    caller: Caller | None = None,
    **detail: Any,
) -> None:
    """Record that `actor` did `kind` to `subject`, also in a log line and in the metrics once the
    transaction is committed. Call it in the transaction of the change: both are kept, or neither.

    - `actor`: COMMAND, which the event does not name, also stands for an unknown actor, such as
      that of a failed sign-in.
    - `subject`: an Actor, a Subject, or a text such as an address or a `kid`; the actor by default
      and for "".
    - `account_id`: the company's id; by default that of the subject if it is an Actor with a
      company, else of the actor.
    - `caller`: by default that of the current request or command.
    - `detail`: must be JSON-serialisable, and never contain a password, a token or a link. What a
      client says about itself goes into `claims`, a dictionary of texts.
    """
    from audit.models import AuditEvent  # Django imports this package before it loads models

    subject = subject or actor
    if isinstance(subject, str):
        subject = Subject(None, subject)
    elif isinstance(subject, Actor):
        account_id = account_id or subject.account_id
        subject = Subject(subject.pk, subject.email)
    caller = caller or current_caller.get()
    claims = {**caller.claims, **detail.pop("claims", {})}
    caller = storable_caller(replace(caller, claims=claims))
    stored_claims = {"claims": caller.claims} if caller.claims else {}
    # Callers validate the texts. This is a last defence.
    bounded = partial(printable_text, max_length=MAX_TEXT_CHARACTERS)
    name = bounded(subject.name)
    AuditEvent.objects.create(
        kind=kind,
        actor_id=actor.pk,
        actor_email=actor.email,
        subject_id=subject.pk,
        subject=name,
        account_id=account_id or actor.account_id,
        address=caller.address,
        agent=caller.agent,
        request_id=caller.request_id,
        shell_user=caller.shell_user,
        detail=map_texts(bounded, {**caller.through, **stored_claims, **detail}),
    )
    transaction.on_commit(partial(log_event, kind, actor, name, caller))


def record_row(kind: "Kind", row: Model, *, actor: Actor = COMMAND, **detail: Any) -> None:
    """Record that `actor` added, changed or deleted a row, as `kind` says, with its text, model and
    id. Call it in the transaction of the change, and before a row is deleted."""
    record(
        kind,
        actor=actor,
        subject=Subject(row.pk if isinstance(row.pk, UUID) else None, str(row)),
        account_id=getattr(row, "account_id", None),
        model=row._meta.label_lower,
        id=str(row.pk),
        **detail,
    )


def storable_caller(caller: Caller) -> Caller:
    """A copy of the caller whose `agent`, `shell_user` and claims are printable and of limited
    length. Claims without a printable character are left out."""
    bounded = partial(printable_text, max_length=MAX_CLAIM_CHARACTERS)
    claims = {name: bounded(text) for name, text in caller.claims.items()}
    return replace(
        caller,
        agent=printable_text(caller.agent, MAX_AGENT_CHARACTERS),
        shell_user=printable_text(caller.shell_user, 64),
        claims={name: text for name, text in claims.items() if text},
    )


def log_event(kind: "Kind", actor: Actor, subject: str, caller: Caller) -> None:
    """Count an event for /metrics, and write its log line. `subject` is the name in the event."""
    series.events.labels(kind.value).inc()
    by = {actor.log_field: str(actor.pk or "")}
    event = {"event": kind.value, **by, "subject": subject, "address": caller.address}
    logger.info("event %s", kind.value, extra={"fields": {k: v for k, v in event.items() if v}})
