"""The file of breached passwords, PASSWORD_BREACH_FILE: sorted SHA-1 hashes, one a line, each with
or without `:count`. The Pwned Passwords downloader writes this format."""

import hashlib
import os
import re
from bisect import bisect_left
from itertools import islice
from typing import BinaryIO

HASH_LINE = re.compile(rb"[0-9A-Fa-f]{40}(:[0-9]+)?\r?\n?")


def existing_breach_file(path: str) -> str:
    """The path itself, once its file is checked; "", which stands for no file, is returned as it
    is. Raises OSError if the file can't be read, and ValueError unless its first 1,000 lines and
    its last one are SHA-1 hashes in hex, with or without a count, in ascending order."""
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
    """Whether the file at this path, of sorted lines that begin with SHA-1 hashes in hex, has that
    of the password in this very spelling. Raises OSError if the file can't be read."""
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()
    with open(path, "rb") as file:
        offsets = range(os.path.getsize(path))
        offset = bisect_left(offsets, digest, key=lambda offset: hash_at(file, offset))
        return hash_at(file, offset) == digest


def hash_at(file: BinaryIO, offset: int) -> bytes:
    """The hash, in upper case, in the first line that begins at or after this offset in bytes. "~",
    which sorts after all hashes, if there is no such line."""
    file.seek(max(0, offset - 1))
    if offset:
        file.readline()
    return file.readline()[:40].upper() or b"~"
