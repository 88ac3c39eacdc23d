"""Which signing keys the database knows to be published, and which to be withdrawn.

A token of a key that is published and that this host lacks is no bad token: it is answered 503, and
its bearer stays signed in. A key that is withdrawn is none, though its file be here.
"""

import threading
import time

from django.db import Error

from keys.models import PublishedKey

LOOK_SECONDS = 2  # how long a process may go without noticing a new key, or a withdrawn one


class PublishedKeys:
    """The kids of the keys, as the database had them at most LOOK_SECONDS ago.

    However many requests there are, and however many kids are made up, a process asks once in that
    time. While the database is away the last answer stays.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Know nothing; the next question goes to the database."""
        self.kids: frozenset[str] | None = None
        self.gone: frozenset[str] = frozenset()
        self.next_look = float("-inf")

    def refresh(self) -> None:
        """Ask the database now; raises its errors."""
        removed = dict(PublishedKey.objects.values_list("kid", "removed_at"))
        self.kids = frozenset(kid for kid, at in removed.items() if at is None)
        self.gone = frozenset(removed) - self.kids
        self.next_look = time.monotonic() + LOOK_SECONDS

    def current(self) -> frozenset[str]:
        """The kids of those that are published; raises the database's errors where it has never
        answered."""
        with self.lock:
            if self.kids is None or time.monotonic() >= self.next_look:
                try:
                    self.refresh()
                except Error:
                    if self.kids is None:
                        raise
            return self.kids or frozenset()

    def withdrawn(self) -> frozenset[str]:
        """The kids of those that hold nowhere; none where the database has never answered. One
        request looks, and the others go on with what is known."""
        if time.monotonic() >= self.next_look and self.lock.acquire(blocking=False):
            try:
                self.refresh()
            except Error:
                self.next_look = time.monotonic() + LOOK_SECONDS
            finally:
                self.lock.release()
        return self.gone


published = PublishedKeys()
