"""Bounded counts of large tables."""

from django.db.models import Model, QuerySet

MOST_COUNTED = 10_000  # rows; counting a million of them would take longer than showing a hundred


def count_of(rows: QuerySet[Model], most: int = MOST_COUNTED) -> int:
    """The number of rows, at most `most` + 1."""
    return rows.order_by()[: most + 1].count()


def format_count(count: int, most: int = MOST_COUNTED) -> str:
    """A `count_of` as text."""
    return f"over {most:,}" if count > most else f"{count:,}"
