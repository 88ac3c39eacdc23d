"""Delete many rows in small transactions."""

from collections.abc import Callable

from django.db import transaction
from django.db.models import QuerySet

BATCH_ROWS = 1000  # rows a transaction


def delete_in_batches(rows: QuerySet, prepare: Callable[[], None] | None = None) -> int:
    """Delete the rows in batches, a transaction each, begun by `prepare`; returns their number."""
    total = 0
    while True:
        keys = rows.order_by().values("pk")[:BATCH_ROWS]
        with transaction.atomic(using=rows.db):
            if prepare:
                prepare()
            # Filtered twice: a row that changed meanwhile is checked again.
            deleted, _ = rows.filter(pk__in=keys).delete()
        total += deleted
        if deleted < BATCH_ROWS:
            return total
