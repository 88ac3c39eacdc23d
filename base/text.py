"""Texts that come from outside: which characters may be stored, and how others are shown names."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from unicodedata import normalize

# For the brackets of a pattern: the control characters C0, DEL and C1.
CONTROL_RANGES = "\x00-\x1f\x7f-\x9f"
# These, and the halves of surrogate pairs, which databases refuse.
REFUSED_RANGES = f"{CONTROL_RANGES}\ud800-\udfff"
# Letters and marks that are invisible, although Python counts them as printable.
BLANK_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U000e0100-\U000e01ef]"
)
# Unicode's Bidi_Control characters.
DIRECTION_CHARACTERS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Invisible joiners where names in Persian and scripts of India need them: between Arabic letters,
# and after the virama. Host names may have them at fewer places (RFC 5892, A.1 and A.2).
ARABIC = "[\u0620-\u065f\u066e-\u06d3\u06d5-\u06ff]"
VIRAMAS = "[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]"
JOINERS = re.compile(f"(?<={ARABIC})\u200c(?={ARABIC})|(?<={VIRAMAS})[\u200c\u200d]")
# For the letters of the reserved name "operators": letters of other scripts that look like them
# (Cyrillic, Greek, Armenian, Cherokee, Lisu and small capitals), and the digit 0.
LOOK_ALIKES = {
    "a": "\u0430\u03b1\u13aa\ua4ee\u1d00\u0251",
    "e": "\u0435\u03b5\u13ac\ua4f0\u1d07",
    "o": "0\u043e\u03bf\u0585\ua4f3\u1d0f",
    "p": "\u0440\u03c1\u13e2\ua4d1\u1d18",
    "r": "\u0433\u13a1\u13d2\ua4e3\u0280",
    "s": "\u0455\u13da\ua4e2\ua731",
    "t": "\u0442\u03c4\u13a2\ua4d4\u1d1b",
}
PLAIN_LETTERS = {
    ord(character): letter for letter, characters in LOOK_ALIKES.items() for character in characters
}
MAX_SHOWN_NAME = 60  # characters of a name in a mail
QUOTATION_MARKS = re.compile('["\u201c-\u201f\xab\xbb]')
# Mail clients turn host names, addresses and telephone numbers into links. Invisible word joiners
# around these characters prevent that.
LINKABLE_CHARACTERS = re.compile(r"[.:/@\d]")


def printable_text(text: str, max_length: int) -> str:
    """At most `max_length` characters from the beginning of the text, without line breaks and
    control characters."""
    return replace_unprintable(text[: 2 * max_length], "")[:max_length]


def replace_unprintable(text: str, replacement: str) -> str:
    """The text with this in place of every character that is not printable, but for JOINERS."""
    kept = {match.start() for match in JOINERS.finditer(text)}
    return "".join(
        c if c.isprintable() or place in kept else replacement for place, c in enumerate(text)
    )


def map_texts(change: Callable[[str], str], value: Any) -> Any:
    """A copy of a JSON value with `change` applied to every text in it but the names of members."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: map_texts(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(change, part) for part in value]
    return value


def unicode_forms(text: str) -> list[str]:
    """A short text in NFC, and in NFD if that differs: browsers send and store letters with accents
    in either form."""
    return list(dict.fromkeys([normalize("NFC", text), normalize("NFD", text)]))


def visible_text(name: str) -> str:
    """The name, perhaps "", on one line without invisible or direction-changing characters."""
    return " ".join(replace_unprintable(BLANK_CHARACTERS.sub("", name), " ").split())


def typed_form(name: str) -> str:
    """The name as people type it after reading it: `visible_text` in NFC."""
    return normalize("NFC", visible_text(name))


def harmless_name(name: str) -> str:
    """A name that users chose, for a mail's text or subject, so that nobody takes it for the mail's
    own text, links or headers: on one line, without invisible characters, cut to MAX_SHOWN_NAME
    characters, with ' for its quotation marks, and word joiners added against links."""
    line = visible_text(name)
    if len(line) > MAX_SHOWN_NAME:
        line = line[: MAX_SHOWN_NAME - 1].rstrip() + "…"
    return LINKABLE_CHARACTERS.sub("\u2060\\g<0>\u2060", QUOTATION_MARKS.sub("'", line))


def letters_and_digits(name: str) -> str:
    """The visible letters and digits of a short name, regardless of case, accents and compatibility
    form (UAX #15), and with LOOK_ALIKES replaced: names that look alike give the same text. The
    time grows with the square of the length."""
    text = BLANK_CHARACTERS.sub("", normalize("NFKD", name).casefold())
    return "".join(filter(str.isalnum, text)).translate(PLAIN_LETTERS)
