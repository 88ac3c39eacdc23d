"""Deleting many rows without holding a lock for long."""

from typing import Any

from django.db.models import QuerySet


def delete_in_batches(rows: QuerySet[Any], batch: int = 1000) -> int:
    """Delete rows that nothing refers to; how many. Each batch is a transaction of its own, unless
    the caller has one."""
    total = 0
    while True:
        keys = rows.order_by("pk").values("pk")[:batch]
        # The condition once more, lest a row go that has changed meanwhile. _raw_delete is
        # delete() without loading the rows, for cascades and signals that they have no use for.
        deleted = rows.filter(pk__in=keys)._raw_delete(rows.db)
        total += deleted
        if deleted < batch:
            return total
