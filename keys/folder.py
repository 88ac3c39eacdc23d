"""The folder of this host's signing keys: read once, kept up to date, added to and cleared.

Keys are the PEM files in JWT_KEYS_DIR (`keys.ring` says what their names mean). Running processes
notice new, changed and removed files by themselves, within LOOK_SECONDS; and within as many which
keys the database knows to be withdrawn: those hold no more, though their files be here.
"""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from keys.files import write_once
from keys.models import PublishedKey
from keys.published import LOOK_SECONDS, published
from keys.ring import NAME_FORMAT, BadKey, Key, KeyRing, new_pem

logger = logging.getLogger(__name__)

FIRST_NAME = "first.pem"
Marks = dict[Path, tuple[str, int, int, int]]  # name, inode, change in ns and size of each file
NO_FILE = "holds no .pem file: `manage.py makekey` makes the first"
JWKS_SECONDS = 60  # how long a client may keep the JWK Set
# Far longer than both, and than copying a key to other hosts takes.
PUBLISH_SECONDS = 600


class KeyFolder:
    """The keys of this process, kept up to date with JWT_KEYS_DIR.

    A request compares the monotonic clock; one request every few seconds asks for the files' times
    of change, and only after a change are keys read, the new ones alone: 45 ms each, for which
    other threads wait, so that none of them meets a token whose key is just being read.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget all keys; the next request reads the folder anew."""
        self.ring: KeyRing | None = None
        self.files: dict[tuple[str, int, int, int], Key] = {}
        self.marks: Marks = {}  # of the folder's files, when they were last read
        self.next_look = float("-inf")
        self.problems: list[str] = []
        self.missed: frozenset[str] = frozenset()  # published keys that it was told it lacks

    def current(self) -> KeyRing:
        """The ring. Raises ImproperlyConfigured when no key could ever be read."""
        if time.monotonic() >= self.next_look or self.ring is None:
            with self.lock:
                if time.monotonic() >= self.next_look or self.ring is None:
                    self.ring = self.reload_if_changed(self.ring)
                    self.next_look = time.monotonic() + LOOK_SECONDS
        assert self.ring is not None  # noqa: S101  (or it has raised)
        return self.ring

    def reload_if_changed(self, old: KeyRing | None) -> KeyRing:
        """The ring of the files that are there now. A key whose file is gone is gone, also if it
        was the last; a file that cannot be read is left out, told of, and tried again."""
        if old is None and settings.JWT_KEYS_DIR == settings.DATA_DIR / "keys":
            make_first()
        marks = marks_of_files()
        if old is not None and marks == self.marks and not self.problems:
            return old
        self.files, problems = self.read(marks)
        if old is None and not self.files:
            raise ImproperlyConfigured(problems[0]) if problems else BadKey(NO_FILE)
        ring = KeyRing(self.files.values())
        self.log_changes(old, ring, problems)
        self.marks, self.problems = marks, problems
        return old if old is not None and old.keys == ring.keys else ring

    def read(self, marks: Marks) -> tuple[dict[tuple[str, int, int, int], Key], list[str]]:
        """The keys by their files' marks, those of unchanged files unread; and what is wrong with
        the others."""
        keys, problems = {}, []
        for path, mark in marks.items():
            try:
                keys[mark] = self.files.get(mark) or Key.read(path)
            except BadKey as error:
                if path.exists():  # not deleted since the folder was listed
                    problems.append(str(error))
        return keys, problems

    def log_changes(self, old: KeyRing | None, ring: KeyRing, problems: list[str]) -> None:
        """Log what is new."""
        for problem in set(problems) - set(self.problems):
            logger.error("the signing keys stay as they are without a file: %s", problem)
        if old is None or old.keys.keys() == ring.keys.keys():
            return
        if ring.keys:
            logger.info("the signing keys have changed: %s", ", ".join(ring.keys))
        else:
            logger.error("no signing key is left in %s: nobody is let in", settings.JWT_KEYS_DIR)


key_folder = KeyFolder()


def key_ring() -> KeyRing:
    """The keys of this process that hold, as folder and database have had them for at most
    LOOK_SECONDS."""
    return key_folder.current().without(published.withdrawn())


def missing() -> frozenset[str]:
    """The kids that are published and whose keys this host lacks; a log line tells of each once.
    Raises the database's errors where it has never answered."""
    lacking = published.current() - key_ring().keys.keys()
    for kid in lacking - key_folder.missed:
        where = settings.JWT_KEYS_DIR
        logger.error("the signing key %s is published, and has no file in %s", kid, where)
    key_folder.missed = lacking
    return lacking


def all_here() -> bool:
    """Whether this host has every published key, and one at all."""
    return not missing() and bool(key_ring().keys)


def marks_of_files() -> Marks:
    """What changes with a file's content, also where it is overwritten in place."""
    marks: Marks = {}
    for path in key_files():
        with contextlib.suppress(OSError):  # deleted since the folder was listed
            found = path.stat()
            marks[path] = path.name, found.st_ino, found.st_ctime_ns, found.st_size
    return marks


def key_files() -> list[Path]:
    return sorted(settings.JWT_KEYS_DIR.glob("*.pem"))


def readable() -> dict[Path, Key]:
    """The keys of the folder as it is now, by file; without the files that are none."""
    found = {}
    for path in key_files():
        with contextlib.suppress(BadKey):
            found[path] = Key.read(path)
    return found


def publish(delay: float) -> Key:
    """Add a new key that signs in `delay` seconds, rounded up to a whole one, and record it.

    FileExistsError when there is one that begins at the same second.
    """
    moment = datetime.fromtimestamp(math.ceil(time.time() + delay), UTC)
    path: Path = settings.JWT_KEYS_DIR / f"{moment.strftime(NAME_FORMAT)}.pem"
    if path.exists():
        raise FileExistsError(path)
    write_once(path, new_pem())
    key = Key.read(path)
    PublishedKey.objects.record(key.kid, key.signs_from)
    return key


def record_published() -> None:
    """Tell the database of this host's keys that it does not know yet."""
    for key in key_folder.current().keys.values():
        PublishedKey.objects.record(key.kid, key.signs_from)


def dies_at(signs_from: float, others: Iterable[float]) -> float | None:
    """When the last token of a key dies, by when it and others begin to sign (epoch seconds).

    None for one without a successor. A key's last token is signed when its successor begins to
    sign, and lives as long as the settings let tokens live; the allowed skew between hosts counts
    twice, once at each end.
    """
    later = [other for other in others if other > signs_from]
    life = max(settings.ACCESS_TOKEN_SECONDS, settings.REFRESH_TOKEN_SECONDS)
    life = min(life, settings.SESSION_MAX_SECONDS) + 2 * settings.JWT_LEEWAY_SECONDS
    return min(later) + life + LOOK_SECONDS if later else None


def remove_dead() -> list[Key]:
    """Delete and withdraw the keys whose last token has died."""
    keys = readable()
    begins = [key.signs_from for key in keys.values()]
    deaths = {path: dies_at(key.signs_from, begins) for path, key in keys.items()}
    dead = [path for path, at in deaths.items() if at is not None and at <= time.time()]
    for path in dead:
        PublishedKey.objects.withdraw(keys[path].kid)
        path.unlink(missing_ok=True)
    return [keys[path] for path in dead]


def withdraw(kid: str) -> None:
    """Delete a key whose tokens live: it has leaked. Where its file is elsewhere only, have no
    host miss it.

    Raises LookupError when nobody knows it, or when no other key is here.
    """
    keys = readable()
    paths = [path for path, key in keys.items() if key.kid == kid]
    if not paths and not PublishedKey.objects.filter(kid=kid).exists():
        raise LookupError(f"{kid} is no key of this host, nor of the database.")
    if len(paths) == len(keys):
        raise LookupError("No other key is here: publish one first.")
    PublishedKey.objects.withdraw(kid)
    for path in paths:
        path.unlink(missing_ok=True)


def make_first() -> Path:
    """Make the folder's first key unless there is one; of racing processes one's key stays."""
    path: Path = settings.JWT_KEYS_DIR / FIRST_NAME
    if not any(settings.JWT_KEYS_DIR.glob("*.pem")):
        write_once(path, new_pem())
    return path
