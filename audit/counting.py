"""Counting what there may be millions of: so far, and no further."""

from django.db.models import Model, QuerySet

MOST_COUNTED = 10_000  # rows; counting a million of them would take longer than showing a hundred


def count_of(rows: QuerySet[Model], most: int = MOST_COUNTED) -> int:
    """How many rows there are; of more than `most`, one more than that."""
    return rows.order_by()[: most + 1].count()


def said(count: int, most: int = MOST_COUNTED) -> str:
    """A `count_of`, in the reader's words."""
    if count > most:
        return f"over {grouped(most)}"
    return grouped(count)


def grouped(number: int) -> str:
    return f"{number:,}"
