"""Adding events to the audit log: one INSERT, and one log line once it is committed.

Every text of an event is limited in length and made printable.
"""

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

MAX_CLAIM_CHARACTERS = 100  # characters of what a client says about itself
MAX_TEXT_CHARACTERS = 254  # characters of any other text


class Subject(NamedTuple):
    """The subject of an event, if it is not a user."""

    pk: UUID | None
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
    """Record that `actor` did `kind` to `subject`: a user (by default the actor), another row, or a
    text such as an address or a `kid`. Without an actor, as for a command or a failed sign-in, the
    event names none.

    Call it in the transaction of the change. `caller` defaults to the current request or command.
    `detail` must be JSON-serialisable and never contains a password, token or link. What a client
    says about itself goes into `claims` only.
    """
    from audit.models import AuditEvent  # Django imports the package before it has models

    about = subject or actor
    if isinstance(about, str):
        about = Subject(None, about)
    elif isinstance(about, Actor):
        account_id = account_id or about.account_id
        about = Subject(about.pk, about.email)
    caller = caller or current_caller.get()
    claims = {**caller.claims, **detail.pop("claims", {})}
    caller = storable_caller(replace(caller, claims=claims))
    kept = {"claims": caller.claims} if caller.claims else {}
    bounded = partial(
        printable_text, longest=MAX_TEXT_CHARACTERS
    )  # callers validate; a last defence
    text = bounded(about.name)
    AuditEvent.objects.create(
        kind=kind,
        actor_id=actor.pk,
        actor_email=actor.email,
        subject_id=about.pk,
        subject=text,
        account_id=account_id or actor.account_id,
        address=caller.address,
        agent=caller.agent,
        request_id=caller.request_id,
        shell_user=caller.shell_user,
        detail=map_texts(bounded, {**caller.through, **kept, **detail}),
    )
    transaction.on_commit(partial(log_event, kind, actor, text, caller))


def record_row(kind: "Kind", row: Model, *, actor: Actor = COMMAND, **detail: Any) -> None:
    """Record that a row was added, changed or deleted by hand; `detail` gets its model and id."""
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
    """The caller with its texts limited in length and printable."""
    bounded = partial(printable_text, longest=MAX_CLAIM_CHARACTERS)
    claims = {name: bounded(text) for name, text in caller.claims.items() if text}
    return replace(
        caller,
        agent=bounded(caller.agent),
        shell_user=printable_text(caller.shell_user, 64),
        claims=claims,
    )


def log_event(kind: "Kind", actor: Actor, subject: str, caller: Caller) -> None:
    series.events.labels(kind.value).inc()
    user = str(actor.pk or "")
    event = {"event": kind.value, "user": user, "subject": subject, "address": caller.address}
    logger.info("event %s", kind.value, extra={"fields": {k: v for k, v in event.items() if v}})
