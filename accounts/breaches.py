"""Passwords known from breaches, in the format of the Pwned Passwords downloader: one file of
sorted SHA-1 hashes, one a line, with or without `:count`."""

import hashlib
import os
import re
from bisect import bisect_left
from itertools import islice
from typing import BinaryIO

HASH_LINE = re.compile(rb"[0-9A-Fa-f]{40}(:[0-9]+)?\r?\n?")


def existing_breach_file(path: str) -> str:
    """The path, or "". Raises ValueError unless the file's first and last lines are in order."""
    if not path:
        return path
    with open(path, "rb") as file:
        lines = list(islice(file, 1000))
        file.seek(max(0, os.path.getsize(path) - 100))
        lines += file.readlines()[-1:]
    if not lines or lines != sorted(lines) or not all(map(HASH_LINE.fullmatch, lines)):
        raise ValueError
    return path


def is_breached(password: str, path: str) -> bool:
    wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()
    with open(path, "rb") as file:
        places = range(os.path.getsize(path))
        place = bisect_left(places, wanted, key=lambda place: hash_at(file, place))
        return hash_at(file, place) == wanted


def hash_at(file: BinaryIO, place: int) -> bytes:
    """The hash in the first line that begins at this offset or after it."""
    file.seek(max(0, place - 1))
    if place:
        file.readline()
    return file.readline()[:40].upper() or b"~"  # after all hashes
