"""The commands of the pages in docs/, as they stand there."""

import re
import textwrap
from pathlib import Path

BLOCK = re.compile(r"^```\w*\n((?s:.*?))^```$|((?:^ {4}.*\n)+)", re.MULTILINE)
STEP = re.compile(r"^(\d+\. +)", re.MULTILINE)


def section(page, heading):
    """What is under a heading, up to the next one of its level or above."""
    text = Path(f"docs/{page}.md").read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}$\n", text, re.MULTILINE)
    end = re.compile(rf"^#{{1,{len(found[1])}}} ", re.MULTILINE).search(text, found.end())
    return text[found.end() : end.start() if end else None]


def blocks(text):
    return [textwrap.dedent(fenced or indented) for fenced, indented in BLOCK.findall(text)]


def spans(text):
    """What its sentences name in backticks, commands among it."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", BLOCK.sub("", text))]


def steps(page, heading):
    """The blocks of each numbered step under a heading, by its number."""
    _, *parts = STEP.split(section(page, heading))
    return {
        int(number.partition(".")[0]): blocks(re.sub(rf"^ {{{len(number)}}}", "", body, flags=re.M))
        for number, body in zip(parts[::2], parts[1::2], strict=True)
    }
