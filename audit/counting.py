"""Counting what there may be millions of: so far, and no further."""

from django.db.models import Model, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext

MOST_COUNTED = 10_000  # rows; counting a million of them would take longer than showing a hundred


def count_of(rows: QuerySet[Model], most: int = MOST_COUNTED) -> int:
    """How many rows there are; of more than `most`, one more than that."""
    return rows.order_by()[: most + 1].count()


def said(count: int, most: int = MOST_COUNTED) -> str:
    """A `count_of`, in the reader's words."""
    if count > most:
        return gettext("over %(count)s") % {"count": grouped(most)}
    return grouped(count)


def grouped(number: int) -> str:
    """The number, its thousands set apart as the reader does."""
    return number_format(number, force_grouping=True)
