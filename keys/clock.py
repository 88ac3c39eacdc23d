"""The database's clock, which all hosts share."""

from datetime import datetime

from django.db import connection
from django.utils import timezone

MOST_SECONDS = 5  # apart; NTP keeps clocks within hundredths of a second


def database_now() -> datetime:
    """The time by PostgreSQL's clock; SQLite has this machine's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def seconds_ahead() -> float:
    """How far this host's clock is ahead of the database's."""
    return (timezone.now() - database_now()).total_seconds()
