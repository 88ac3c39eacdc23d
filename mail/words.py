"""Names chosen by users, as mails may repeat them."""

import re

from base.text import visible_text

LONGEST_NAME = 60  # characters
QUOTATION_MARKS = re.compile('["\u201c-\u201f\xab\xbb]')
# Mail clients make links of host names, addresses and telephone numbers, even without a scheme. An
# invisible word joiner on both sides of these characters prevents that.
LINKABLE = re.compile(r"[.:/@\d]")


def harmless_name(name: str) -> str:
    """The name for display in quotation marks: it can't pass for the mail's own text, links or
    headers.

    On one line, without control or direction-changing characters, 60 characters at most.
    """
    line = visible_text(name)
    if len(line) > LONGEST_NAME:
        line = line[: LONGEST_NAME - 1].rstrip() + "…"
    return LINKABLE.sub("\u2060\\g<0>\u2060", QUOTATION_MARKS.sub("'", line))
