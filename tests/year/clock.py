"""The year's clock, which every process of it has in the place of the machine's."""

import shutil
import struct
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("clock.c")


class Clock:
    """A wall clock that is set forward at will, and goes on with the machine's in between.

    Each place (a host, a server) may be wrong by some seconds of its own. The files lie where
    servers can read them that run as another user.
    """

    def __init__(self, folder):
        self.folder, self.library = folder, folder / "clock.so"
        if shutil.which("gcc") is None:
            pytest.fail("there is no `gcc` (Debian's gcc and libc6-dev)")
        build = ["gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
        subprocess.run([*build, "-o", str(self.library), str(SOURCE)], check=True)
        self.ahead = 0  # seconds
        self.wrong = {}

    def environment(self, place):
        """What the processes of a place are started with."""
        self.wrong.setdefault(place, 0)
        self.file(place).touch(0o644)
        self.tell()
        return {"LD_PRELOAD": str(self.library), "CLOCK_FILE": str(self.file(place))}

    def file(self, place):
        return self.folder / f"clock-{place}"

    def tell(self):
        for place, wrong in self.wrong.items():
            with self.file(place).open("r+b") as file:
                file.write(struct.pack("q", self.ahead + wrong))

    def now(self):
        return datetime.now(UTC) + timedelta(seconds=self.ahead)

    def set(self, moment):
        """Go forward to a moment, which must be one to come unless nothing has begun yet."""
        ahead = round((moment - datetime.now(UTC)).total_seconds())
        assert ahead >= self.ahead or not self.ahead, "no clock here goes back"
        self.ahead = ahead
        self.tell()

    def go_on(self, **time):
        """Go forward by so much: `minutes=1`."""
        self.ahead += round(timedelta(**time).total_seconds())
        self.tell()

    def misset(self, place, seconds):
        """Let a place be wrong from now on, or right again by 0."""
        self.wrong[place] = seconds
        self.tell()
