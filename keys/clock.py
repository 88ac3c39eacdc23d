"""Whether this host's clock agrees with the database's, which all hosts share."""

import time

from django.db import connection

MOST_SECONDS = 5  # apart; NTP keeps clocks within hundredths of a second


def seconds_ahead() -> float:
    """How far this host's clock is ahead of the database's, to within half of what the answer
    takes; 0 for SQLite, which has none of its own."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        asked = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        (theirs,) = cursor.fetchone()
    return (asked + time.time()) / 2 - float(theirs)
