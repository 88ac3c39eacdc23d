"""Passwords known from breaches, in a file as the Pwned Passwords downloader writes it."""

import hashlib
import os
import re
from itertools import pairwise

LINE = re.compile(rb"([0-9A-Fa-f]{40})(:[0-9]+)?\r?")
LONGEST = 64  # octets of a line


class BreachFile:
    """Sorted SHA-1 hashes, one a line, with or without `:count`, searched by bisection.

    Raises ValueError where a line that is read is not one, or is out of order. The file stays open:
    one that replaces it is read by the next process. It is read in place rather than mapped, since
    a mapped file that is cut short kills the process that reads it.
    """

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.file).st_size
        places = range(0, self.size, max(1, self.size // 256))
        starts = dict([self.line_at(place)[:2] for place in [*places, max(0, self.size - 2)]])
        if not starts or any(first >= second for first, second in pairwise(starts.values())):
            raise ValueError

    def line_at(self, place: int) -> tuple[int, bytes, int]:
        """Where the line around a place begins, its hash, and where the next line begins."""
        offset = max(0, place - LONGEST)
        block = os.pread(self.file, 2 * LONGEST, offset)
        begin = block.rfind(b"\n", 0, place - offset) + 1
        end = block.find(b"\n", place - offset)
        found = LINE.fullmatch(block[begin : end if end >= 0 else len(block)])
        if not found:
            raise ValueError
        return offset + begin, found[1].upper(), offset + begin + len(found[0]) + 1

    def __contains__(self, password: str) -> bool:
        wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()
        low, high = 0, self.size
        while low < high:
            begin, found, following = self.line_at((low + high) // 2)
            if found == wanted:
                return True
            low, high = (following, high) if found < wanted else (low, begin)
        return False
