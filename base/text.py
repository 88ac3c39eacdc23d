"""Texts of users, apps and strangers: what may be stored, and what others see of a name."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from unicodedata import normalize

# For the brackets of a pattern: C0, DEL and C1 controls; these and halves of surrogate pairs, which
# no database takes.
CONTROL_RANGES = "\x00-\x1f\x7f-\x9f"
REFUSED_RANGES = f"{CONTROL_RANGES}\ud800-\udfff"
# Letters and marks that show nothing, which Python counts as printable.
BLANK_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U000e0100-\U000e01ef]"
)
DIRECTION_CHARACTERS = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)  # Bidi_Control of Unicode
# Letters of other scripts that look like these: Cyrillic, Greek, Armenian, Cherokee, Lisu and small
# capitals. Of letters in reserved names only.
LOOK_ALIKES = {
    "a": "\u0430\u03b1\u13aa\ua4ee\u1d00\u0251",
    "e": "\u0435\u03b5\u13ac\ua4f0\u1d07",
    "o": "0\u043e\u03bf\u0585\ua4f3\u1d0f",
    "p": "\u0440\u03c1\u13e2\ua4d1\u1d18",
    "r": "\u0433\u13a1\u13d2\ua4e3\u0280",
    "s": "\u0455\u13da\ua4e2\ua731",
    "t": "\u0442\u03c4\u13a2\ua4d4\u1d1b",
}
PLAIN_LETTERS = {ord(like): letter for letter, alikes in LOOK_ALIKES.items() for like in alikes}
MAX_SHOWN_NAME = 60  # characters of a name in a mail
QUOTATION_MARKS = re.compile('["\u201c-\u201f\xab\xbb]')
# Mail clients make links of host names, addresses and telephone numbers, even without a scheme. An
# invisible word joiner on both sides of these characters prevents that.
LINKABLE_CHARACTERS = re.compile(r"[.:/@\d]")


def printable_text(text: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, without control characters."""
    return "".join(c for c in text[: 2 * longest] if c.isprintable())[:longest]


def map_texts(change: Callable[[str], str], value: Any) -> Any:
    """The value of a JSON document, with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: map_texts(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(change, part) for part in value]
    return value


def visible_text(name: str) -> str:
    """The name on one line, without invisible or direction-changing characters."""
    characters = (c if c.isprintable() else " " for c in BLANK_CHARACTERS.sub("", name))
    return " ".join("".join(characters).split())


def harmless_name(name: str) -> str:
    """The name for display in a mail, in quotation marks: it can't pass for the mail's own text,
    links or headers.

    On one line, without control or direction-changing characters, 60 characters at most.
    """
    line = visible_text(name)
    if len(line) > MAX_SHOWN_NAME:
        line = line[: MAX_SHOWN_NAME - 1].rstrip() + "…"
    return LINKABLE_CHARACTERS.sub("\u2060\\g<0>\u2060", QUOTATION_MARKS.sub("'", line))


def letters_and_digits(name: str) -> str:
    """The visible letters and digits of a short name, whatever their case, accents, compatibility
    form (UAX #15) and, of a few, script: names with the same ones look alike. "" for a name that
    shows none. Takes time by the square of the length."""
    text = BLANK_CHARACTERS.sub("", normalize("NFKD", name).casefold())
    return "".join(filter(str.isalnum, text)).translate(PLAIN_LETTERS)
