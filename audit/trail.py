"""Writing to the audit trail: one function, one INSERT, and one log line once it is committed."""

import logging
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from django.db import transaction

from audit.models import Kind, Record
from audit.origin import LONGEST_AGENT, Origin, current, printable
from metrics import series

logger = logging.getLogger("audit")


class Person(Protocol):
    """What the trail asks of somebody who acts; a user has it."""

    pk: Any
    email: Any
    account_id: Any


class Actor(Person, Protocol):
    """A person who may act on others, or may not; a user is one (accounts.authority)."""

    def check_reach(self, *rows: Any) -> None:
        """Raise PermissionDenied unless the person may act on all of these."""

    def check_reach_of_email(self, email: str) -> None:
        """The same for an address, with a user or without."""


def record(
    kind: Kind,
    *,
    actor: Person | None = None,
    subject: str = "",
    account_id: UUID | None = None,
    origin: Origin | None = None,
    **detail: Any,
) -> None:
    """Record that `actor` did `kind` to `subject` (an address, a name or a `kid`).

    Call it in the transaction of what it tells of. Without `origin` that comes from the request or
    command in hand. `detail` is what JSON can hold; a password, token or link never goes in.
    """
    origin = origin or current.get()
    Record.objects.create(
        kind=kind,
        actor_id=actor.pk if actor else None,
        actor_email=actor.email if actor else "",
        subject=printable(subject or (actor.email if actor else ""), 254),
        account_id=account_id or (actor.account_id if actor else None),
        address=origin.address,
        agent=printable(origin.agent, LONGEST_AGENT),
        request_id=origin.request_id,
        shell_user=origin.shell_user,
        detail={**origin.through, **detail},
    )
    user = str(actor.pk) if actor else ""
    transaction.on_commit(partial(log, kind, user, subject, origin))


def log(kind: Kind, user: str, subject: str, origin: Origin) -> None:
    series.events.labels(kind.value).inc()
    event = {"event": kind.value, "user": user, "subject": subject, "address": origin.address}
    logger.info("event %s", kind.value, extra={"fields": {k: v for k, v in event.items() if v}})
