"""How passwords are hashed, and how many at a time."""

import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.contrib.auth import hashers
from nacl.exceptions import InvalidkeyError
from nacl.pwhash import PWHASH_SIZE, argon2id

from metrics import series
from signin.exceptions import TooManyHashes

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


class OwaspArgon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id with 19 MiB, 2 passes and 1 lane: the first choice of OWASP's Password Storage
    Cheat Sheet. Django's own parameters take 100 MiB and eight lanes for each log-in.

    libsodium computes it, which picks the processor's widest instructions when it runs;
    argon2-cffi's wheel is built for the oldest ones. The hashes are in Django's form, and Django's
    own hasher reads them and computes what libsodium does not.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
    # libsodium's salts are 16 random bytes (RFC 9106, 3.1). Django reckons in letters and digits,
    # of which 16 are 95 bits.
    salt_entropy = 95

    def salt(self) -> str:
        """None of ours: libsodium draws one itself."""
        return ""

    def encode(self, password: str, salt: str) -> str:
        """`argon2$argon2id$v=19$…`; with a salt of the caller's own, by Django's hasher."""
        with hash_slot():
            if salt:
                return super().encode(password, salt)
            hashed = argon2id.str(password.encode(), self.time_cost, self.memory_cost * 1024)
            return f"argon2{hashed.decode()}"

    def verify(self, password: str, encoded: str) -> bool:
        hashed = encoded.removeprefix("argon2").encode()
        known = hashed.startswith(b"$argon2id$v=19$") and len(hashed) <= PWHASH_SIZE
        with hash_slot():
            if not known:  # Argon2i and 2d, long salts and outputs
                return super().verify(password, encoded)
            try:
                return argon2id.verify(hashed, password.encode())
            except InvalidkeyError:
                return False


class InTurn:
    """For Django's hashers of before, whose `verify` calls `encode`."""

    def encode(self, *args: Any, **kwargs: Any) -> str:
        with hash_slot():
            return str(super().encode(*args, **kwargs))  # type: ignore[misc]


class PBKDF2Hasher(InTurn, hashers.PBKDF2PasswordHasher):
    pass


class ScryptHasher(InTurn, hashers.ScryptPasswordHasher):  # type: ignore[name-defined]
    pass
