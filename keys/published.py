"""Which signing keys the database knows to be published, and this host may lack.

A token of such a key is no bad token: it is answered 503, and its bearer stays signed in.
"""

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db import Error

from keys import folder
from keys.folder import key_ring
from keys.models import PublishedKey
from keys.ring import Key, KeyRing

logger = logging.getLogger(__name__)


class PublishedKeys:
    """The kids of the published keys, as the database had them at most LOOK_SECONDS ago.

    However many kids are made up, a process asks once in that time. While the database is away
    the last answer stays.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Know nothing; the next question goes to the database."""
        self.kids: frozenset[str] | None = None
        self.next_look = float("-inf")
        self.reported: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Ask the database now; raises its errors."""
        published = PublishedKey.objects.filter(removed_at=None)
        self.kids = frozenset(published.values_list("kid", flat=True))
        self.next_look = time.monotonic() + folder.LOOK_SECONDS

    def current(self) -> frozenset[str]:
        """The kids; raises the database's errors where it has never answered."""
        with self.lock:
            if time.monotonic() >= self.next_look:
                try:
                    self.refresh()
                except Error:
                    if self.kids is None:
                        raise
            return self.kids or frozenset()

    def missing(self) -> frozenset[str]:
        """The kids whose keys this host lacks; a log line tells of each once."""
        missing = self.current() - key_ring().keys.keys()
        for kid in missing - self.reported:
            folder = settings.JWT_KEYS_DIR
            logger.error("the signing key %s is published, and has no file in %s", kid, folder)
        self.reported = missing
        return missing

    def all_here(self) -> bool:
        """Whether this host has every published key, and one at all."""
        return not self.missing() and bool(key_ring().keys)


published = PublishedKeys()


@dataclass(frozen=True)
class KeyState:
    """One key as `manage.py keys` shows it; times in epoch seconds.

    `signs_from` is None for a key that signs at once, `dies_at` (when the last token does that it
    can have signed) for one without a successor.
    """

    kid: str
    file: str | None
    state: str
    signs_from: float | None
    dies_at: float | None


def survey() -> list[KeyState]:
    """Every key and key file that is here, or is published, by the time from which it signs.

    States: `signing`, `waiting` to sign, `verifying` what it has signed, `dead` (to be removed),
    `withdrawn` (though its file is here), `missing` here, `unreadable`.
    """
    here = folder.readable()
    rows = {row.kid: row for row in PublishedKey.objects.all()}
    held = {key.kid for key in here.values()}
    missing = [row for row in rows.values() if row.removed_at is None and row.kid not in held]
    begins = {key.kid: key.signs_from for key in here.values()}
    begins |= {row.kid: row.signs_from.timestamp() if row.signs_from else 0 for row in missing}

    def state(kid: str, file: str | None, name: str) -> KeyState:
        signs_from = begins[kid]
        return KeyState(
            kid, file, name, signs_from or None, folder.dies_at(signs_from, begins.values())
        )

    signing = KeyRing(here.values()).signing_key().kid if here else None
    found = [state(row.kid, None, "missing") for row in missing]
    for path, key in here.items():
        if key.kid in rows and rows[key.kid].removed_at is not None:
            name = "withdrawn"
        elif key.kid == signing:
            name = "signing"
        else:
            name = phase(key, begins.values())
        found.append(state(key.kid, path.name, name))
    unreadable = [path.name for path in folder.key_files() if path not in here]
    found += [KeyState("", file, "unreadable", None, None) for file in unreadable]
    return sorted(found, key=lambda key: (key.signs_from or 0, key.file or ""))


def phase(key: Key, begins: Iterable[float]) -> str:
    """The state of a key that is here and does not sign, by the time alone."""
    now = time.time()
    if key.signs_from > now:
        return "waiting"
    dies_at = folder.dies_at(key.signs_from, begins)
    return "dead" if dies_at is not None and dies_at <= now else "verifying"
