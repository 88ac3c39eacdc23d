"""Every promise of SECURITY.md names tests that are there."""

import re
from pathlib import Path

TEXT = Path("SECURITY.md").read_text(encoding="utf-8")
LINE = re.compile(r"^- .*(?:\n  .*)*", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


def test_every_named_test_exists():
    named = set(TEST.findall(TEXT))
    missing = [
        f"{file}::{name}"
        for file, name in named
        if f"def {name}(" not in Path("tests", file).read_text(encoding="utf-8")
    ]

    assert len(named) > 25
    assert missing == []


def test_every_promise_names_a_test():
    promises = LINE.findall(TEXT)

    assert len(promises) > 25
    assert [promise for promise in promises if not TEST.search(promise)] == []
    assert len(re.findall(r"`[^`]*test_[^`]*`", TEXT)) == len(TEST.findall(TEXT))
