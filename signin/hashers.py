"""How passwords are hashed, and how many at a time.

The contract: decisions §8.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from nacl.exceptions import InvalidkeyError
from nacl.pwhash import PWHASH_SIZE, argon2id

from metrics import series
from signin.errors import TooManyHashes

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


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, 2 passes and 1 lane, computed by libsodium.

    The parameters are the first choice of OWASP's Password Storage Cheat Sheet; Django's own take
    100 MiB and eight lanes for each log-in. The hashes have Django's form, and Django's hasher
    reads those that libsodium does not: Argon2i and 2d, older versions, longer salts and outputs.
    """

    time_cost, memory_cost, parallelism = 2, 19 * 1024, 1
    # libsodium's salts are 16 random bytes. Django counts a salt's characters as letters and
    # digits, and 16 of those have 95 bits.
    salt_entropy = 95

    def salt(self) -> str:
        """Empty: libsodium draws the salt."""
        return ""

    def encode(self, password: str, salt: str) -> str:
        """`argon2$argon2id$v=19$…`; a hash with a given salt is made by Django's hasher."""
        with hash_slot():
            if salt:
                return super().encode(password, salt)
            hashed = argon2id.str(password.encode(), self.time_cost, self.memory_cost * 1024)
            return f"argon2{hashed.decode()}"

    def verify(self, password: str, encoded: str) -> bool:
        hashed = encoded.removeprefix("argon2").encode()
        with hash_slot():
            if not hashed.startswith(b"$argon2id$v=19$") or len(hashed) > PWHASH_SIZE:
                return super().verify(password, encoded)
            try:
                return bool(argon2id.verify(hashed, password.encode()))
            except InvalidkeyError:
                return False
