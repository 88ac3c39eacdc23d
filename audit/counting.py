"""Counting what there may be millions of: so far, and no further."""

from typing import Any

MOST_RECORDS_COUNTED = (
    10_000  # rows; counting a million of them would take longer than showing a hundred
)


def count_of(rows: Any) -> int:
    """How many rows there are; of more than MOST_RECORDS_COUNTED, one more than that."""
    return int(rows.order_by()[: MOST_RECORDS_COUNTED + 1].count())


def said(count: int) -> str:
    """A `count_of`, in words."""
    return f"{count:,}" if count <= MOST_RECORDS_COUNTED else f"over {MOST_RECORDS_COUNTED:,}"
