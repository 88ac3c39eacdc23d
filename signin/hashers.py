"""How passwords are hashed, and how many at a time.

The contract: decisions §8.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from argon2 import low_level
from argon2.exceptions import VerificationError
from django.conf import settings
from django.contrib.auth import hashers
from nacl.exceptions import InvalidkeyError
from nacl.pwhash import PWHASH_SIZE, argon2id

from metrics import series
from signin.exceptions import TooManyHashes

logger = logging.getLogger(__name__)

PASSES, KIBIBYTES, LANES = 2, 19 * 1024, 1
# A hash holds a thread, a core and 19 MiB: half of the threads are kept for everybody else.
MAX_PARALLEL_HASHES = max(1, settings.WEB_THREADS // 2)
PATIENCE = 3.0  # seconds that somebody waits for a turn
slots = threading.BoundedSemaphore(MAX_PARALLEL_HASHES)
# time.monotonic() when the request came, where it has waited before any of our code ran.
waiting_since: ContextVar[float | None] = ContextVar("waiting_since", default=None)


@contextlib.contextmanager
def hash_slot() -> Iterator[None]:
    """Wait for one of the hashes at a time that this process makes.

    Raises TooManyHashes after PATIENCE, counted from `waiting_since`. Nothing is known of the
    user here: whoever asks, for whatever address, waits in the same queue.
    """
    since = waiting_since.get()
    patience = PATIENCE if since is None else PATIENCE - (time.monotonic() - since)
    with series.hashing.labels("waiting").track_inprogress():
        acquired = patience >= 0 and slots.acquire(timeout=patience)
    if not acquired:
        raise TooManyHashes
    try:
        with series.hashing.labels("running").track_inprogress():
            yield
    finally:
        slots.release()


class Library(NamedTuple):
    """One that computes Argon2id: `make` gives the hash of a password, with a new salt of 16 bytes
    (RFC 9106, 3.1), and `verify` says whether a hash is that of a password."""

    name: str
    make: Callable[[bytes], bytes]
    verify: Callable[[bytes, bytes], bool]


def make_by_libsodium(password: bytes) -> bytes:
    return bytes(argon2id.str(password, PASSES, KIBIBYTES * 1024))


def verify_by_libsodium(hashed: bytes, password: bytes) -> bool:
    try:
        return bool(argon2id.verify(hashed, password))
    except InvalidkeyError:
        return False


def make_by_argon2_cffi(password: bytes) -> bytes:
    salt = os.urandom(16)
    return low_level.hash_secret(password, salt, PASSES, KIBIBYTES, LANES, 32, low_level.Type.ID)


def verify_by_argon2_cffi(hashed: bytes, password: bytes) -> bool:
    try:
        return low_level.verify_secret(hashed, password, low_level.Type.ID)
    except VerificationError:
        return False


# libsodium picks the processor's widest instructions when it runs, and asks for its memory anew for
# each hash. argon2-cffi keeps the memory; its wheel is built for the oldest instructions, but it
# can be built for newer ones. Which is quicker is for the machine to say, and its huge pages.
LIBSODIUM = Library("libsodium", make_by_libsodium, verify_by_libsodium)
ARGON2_CFFI = Library("argon2-cffi", make_by_argon2_cffi, verify_by_argon2_cffi)


def quickest(libraries: Sequence[Library], tries: int = 4) -> Library:
    """The library that takes the least CPU for a hash here, which the log is told."""
    costs = {library: min(cost(library) for _ in range(tries)) for library in libraries}
    ranked = sorted(libraries, key=lambda library: costs[library])
    words = ", ".join(f"{library.name} {costs[library] * 1000:.1f} ms" for library in ranked)
    logger.info("passwords are hashed by %s: %s", ranked[0].name, words)
    return ranked[0]


def cost(library: Library) -> float:
    """Seconds of CPU, the kernel's included, that one hash takes."""
    begun = time.thread_time()
    library.make(b"correct horse battery")
    return time.thread_time() - begun


class OwaspArgon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id with 19 MiB, 2 passes and 1 lane: the first choice of OWASP's Password Storage
    Cheat Sheet. Django's own parameters take 100 MiB and eight lanes for each log-in.

    The hashes are in Django's form, and the same whichever library makes them. One serves all
    log-ins of a process, known and unknown addresses alike, so that its time tells nothing.
    Django's own hasher reads what libsodium does not, always.
    """

    time_cost = PASSES
    memory_cost = KIBIBYTES
    parallelism = LANES
    # The salts are 16 random bytes. Django reckons in letters and digits, of which 16 are 95 bits.
    salt_entropy = 95
    chosen = LIBSODIUM

    @classmethod
    def choose(cls) -> None:
        """Hash by the library that is quicker here: once, before processes fork."""
        cls.chosen = quickest([LIBSODIUM, ARGON2_CFFI])

    def salt(self) -> str:
        """None of ours: the library draws one."""
        return ""

    def encode(self, password: str, salt: str) -> str:
        """`argon2$argon2id$v=19$…`; with a salt of the caller's own, by Django's hasher."""
        with hash_slot():
            if salt:
                return super().encode(password, salt)
            return f"argon2{self.chosen.make(password.encode()).decode()}"

    def verify(self, password: str, encoded: str) -> bool:
        hashed = encoded.removeprefix("argon2").encode()
        known = hashed.startswith(b"$argon2id$v=19$") and len(hashed) <= PWHASH_SIZE
        with hash_slot():
            if not known:  # Argon2i and 2d, long salts and outputs
                return super().verify(password, encoded)
            return self.chosen.verify(hashed, password.encode())


class InTurn(hashers.BasePasswordHasher):
    """For Django's hashers of before, whose `verify` calls `encode`."""

    def encode(self, *args: Any, **kwargs: Any) -> str:
        with hash_slot():
            return super().encode(*args, **kwargs)


class PBKDF2Hasher(InTurn, hashers.PBKDF2PasswordHasher):
    pass


class ScryptHasher(InTurn, hashers.ScryptPasswordHasher):  # type: ignore[name-defined]
    pass
