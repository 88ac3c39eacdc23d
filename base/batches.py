"""Delete many rows in small transactions."""

from collections.abc import Callable

from django.db import transaction
from django.db.models import QuerySet

BATCH_ROWS = 1000  # deleted in one transaction


def delete_in_batches(rows: QuerySet, prepare: Callable[[], None] | None = None) -> int:
    """Delete the rows, BATCH_ROWS at a time; returns the number of deleted rows, with those of
    cascades. Each batch has a transaction of its own, which begins with a call of `prepare`. If
    another transaction changes the rows meanwhile, some may wait for the next call."""
    total = 0
    while True:
        keys = rows.order_by().values("pk")[:BATCH_ROWS]
        with transaction.atomic(using=rows.db):
            if prepare:
                prepare()
            # The condition of `rows` is repeated, for a row that another transaction has changed.
            deleted, _ = rows.filter(pk__in=keys).delete()
        total += deleted
        if deleted < BATCH_ROWS:
            return total
