"""One hash by each library that computes it, with the service's parameters:

.venv/bin/python -m benchmarks.hashers
"""

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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


BASE = "libsodium (PyNaCl)"  # what the others are compared with
ROUNDS, TIMES = 15, 10


class Spent(NamedTuple):
    """Milliseconds of one hash: on the clock, and of CPU in the program and in the kernel."""

    clock: float
    user: float
    system: float

    @property
    def cpu(self) -> float:
        return self.user + self.system


def spent(work: Callable[[], bytes]) -> Spent:
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(TIMES):
        work()
    after, ended = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Spent(*(seconds * 1000 / TIMES for seconds in (ended - begun, user, system)))


def main() -> None:
    assert len({work() for work in LIBRARIES.values()}) == 1
    print("huge pages:", HUGE_PAGES.read_text().strip() if HUGE_PAGES.exists() else "unknown")
    rounds = [{name: spent(work) for name, work in LIBRARIES.items()} for _ in range(ROUNDS)]
    for name in LIBRARIES:
        best = min((each[name] for each in rounds), key=lambda it: it.cpu)
        ratio = statistics.median(each[name].cpu / each[BASE].cpu for each in rounds)
        cpu = f"CPU {best.user:.1f} ms and {best.system:.1f} ms in the kernel"
        print(f"{name:24}{best.clock:6.1f} ms, {cpu}, {ratio:.2f} of libsodium's")


if __name__ == "__main__":
    main()
