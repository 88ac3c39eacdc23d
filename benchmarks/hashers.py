"""One hash by each library that computes it, with the service's parameters:

.venv/bin/python -m benchmarks.hashers
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import argon2
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from django.contrib.auth.hashers import Argon2PasswordHasher
from nacl.pwhash import argon2id

PASSES, KIBIBYTES = 2, 19 * 1024
PASSWORD, SALT = b"correct horse battery", b"sixteen letters!"
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class Before(Argon2PasswordHasher):
    """Django's own hasher, by argon2-cffi, which today's log-in is measured beside."""

    time_cost, memory_cost, parallelism = PASSES, KIBIBYTES, 1


LIBRARIES: dict[str, Callable[[], bytes]] = {
    "argon2-cffi": lambda: argon2.low_level.hash_secret_raw(
        PASSWORD, SALT, PASSES, KIBIBYTES, 1, 32, argon2.Type.ID
    ),
    "libsodium (PyNaCl)": lambda: argon2id.kdf(32, PASSWORD, SALT, PASSES, KIBIBYTES * 1024),
    "OpenSSL (cryptography)": lambda: Argon2id(
        salt=SALT, length=32, iterations=PASSES, lanes=1, memory_cost=KIBIBYTES
    ).derive(PASSWORD),
}


def milliseconds(work: Callable[[], bytes], times: int = 20) -> tuple[float, float, float]:
    """Of one hash: on the clock, and of CPU in the program and in the kernel."""
    begun, before = time.perf_counter(), os.times()
    for _ in range(times):
        work()
    after, ended = os.times(), time.perf_counter()
    spent = ended - begun, after.user - before.user, after.system - before.system
    return spent[0] * 1000 / times, spent[1] * 1000 / times, spent[2] * 1000 / times


def main() -> None:
    assert len({work() for work in LIBRARIES.values()}) == 1
    print("huge pages:", HUGE_PAGES.read_text().strip() if HUGE_PAGES.exists() else "unknown")
    for name, work in LIBRARIES.items():
        rounds = [milliseconds(work) for _ in range(7)]
        clock, user, system = min(rounds, key=lambda spent: spent[1] + spent[2])
        print(f"{name:24}{clock:6.1f} ms, CPU {user:.1f} ms and {system:.1f} ms in the kernel")


if __name__ == "__main__":
    main()
