"""The password hasher, and the bound of passwords that a process hashes at a time.

A hash takes a core and 19 MiB for about 20 ms, so many sign-ins at once would leave no thread or
core for other calls. A process computes MAX_HASHING hashes at a time, and further callers wait for
up to MAX_WAIT_SECONDS. A quarter of the threads neither hashes nor waits, unless there are fewer
than eight: a few sign-ins at once would be refused.
"""

import contextlib
import threading
from collections.abc import Iterator
from unicodedata import normalize

from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connection
from nacl.exceptions import InvalidkeyError
from nacl.pwhash import PWHASH_SIZE, argon2id

from accounts.validators import MAX_PASSWORD_LENGTH, to_nfc
from metrics import series
from signin.capacity import HASH_KIB, count_hash_slots
from signin.errors import TooManyHashes

THREADS = settings.WEB_THREADS
MAX_HASHING = settings.HASHES_AT_A_TIME or count_hash_slots(settings.WEB_CONCURRENCY, THREADS)
MAX_ADMITTED = THREADS * 3 // 4 if THREADS >= 8 else THREADS  # hashing and waiting together
MAX_WAIT_SECONDS = 3.0

caller_slots = threading.BoundedSemaphore(MAX_ADMITTED)
hash_slots = threading.BoundedSemaphore(MAX_HASHING)


@contextlib.contextmanager
def hash_slot() -> Iterator[None]:
    """Wait for a slot to hash a password, and keep it for the length of the block.

    Don't nest it. Enter it outside transactions, before any lookup: what was read before the wait
    would be outdated, and callers must wait alike, whatever the address. Raises TooManyHashes at
    once if MAX_ADMITTED callers hash or wait, or after MAX_WAIT_SECONDS.
    """
    if not caller_slots.acquire(blocking=False):
        raise TooManyHashes
    try:
        if not hash_slots.acquire(blocking=False):
            wait_for_slot()
        try:
            with series.hashing.labels("running").track_inprogress():
                yield
        finally:
            hash_slots.release()
    finally:
        caller_slots.release()


def wait_for_slot() -> None:
    """Take one of `hash_slots`, which the caller releases. Raises TooManyHashes if none is free
    within MAX_WAIT_SECONDS. Closes the thread's database connection, unless in a transaction."""
    if not connection.in_atomic_block:
        connection.close()
    with series.hashing.labels("waiting").track_inprogress():
        if not hash_slots.acquire(timeout=MAX_WAIT_SECONDS):
            raise TooManyHashes


def spellings(password: str) -> list[str]:
    """The Unicode forms of a typed password to compare with a hash. The first is the composed form
    (NFC), of which hashes are made. The second, if it differs, is what releases up to 2.1 may have
    hashed: the decomposed form (NFD) of a composed password, else the password as typed. Their
    number depends on the typed password alone, so the time of a refusal tells nothing about the
    address."""
    nfc = to_nfc(password)
    is_nfc = password == nfc and len(password) <= MAX_PASSWORD_LENGTH
    return list(dict.fromkeys([nfc, normalize("NFD", password) if is_nfc else password]))


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, 2 passes and 1 lane, computed by libsodium.

    The parameters are the first choice of OWASP's Password Storage Cheat Sheet; Django's own take
    100 MiB and eight lanes for each sign-in. The hashes have Django's form, and Django's hasher
    reads those that libsodium does not: Argon2i and 2d, older versions, longer salts and outputs.
    """

    time_cost, memory_cost, parallelism = 2, HASH_KIB, 1
    # libsodium's salts are 16 random bytes. Django counts a salt's characters as letters and
    # digits, and 16 of those have 95 bits.
    salt_entropy = 95

    def encode(self, password: str, salt: str) -> str:
        """The hash of the password's composed form. `salt` is ignored: libsodium makes its own."""
        hashed = argon2id.str(to_nfc(password).encode(), self.time_cost, self.memory_cost * 1024)
        return f"argon2{hashed.decode()}"

    def verify(self, password: str, encoded: str) -> bool:
        """Whether the hash is of this password, in this very spelling."""
        hashed = encoded.removeprefix("argon2").encode()
        if not hashed.startswith(b"$argon2id$v=19$") or len(hashed) > PWHASH_SIZE:
            return super().verify(password, encoded)
        try:
            return bool(argon2id.verify(hashed, password.encode()))
        except InvalidkeyError:
            return False
