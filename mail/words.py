"""Words of others, as a mail may repeat them."""

import re

LONGEST_NAME = 60  # characters
QUOTATION_MARKS = re.compile('["\u201c-\u201f\xab\xbb]')
# Mail clients make links of `evil.test`, of addresses and of telephone numbers, with no scheme
# before them. With a word joiner (invisible, no break) on both sides they see no such thing.
LINKABLE = re.compile(r"[.:/@\d]")


def harmless(name: str) -> str:
    """A name as a mail may show it in quotation marks: it passes for none of the mail's own words,
    links or headers.

    On one line, without controls or signs that turn the reading direction, at most 60 characters.
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if len(line) > LONGEST_NAME:
        line = line[: LONGEST_NAME - 1].rstrip() + "…"
    return LINKABLE.sub("\u2060\\g<0>\u2060", QUOTATION_MARKS.sub("'", line))
