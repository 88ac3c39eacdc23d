"""Every test that SECURITY.md names for a promise is there."""

import re
from pathlib import Path


def test_every_named_test_exists():
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", Path("SECURITY.md").read_text(encoding="utf-8"))

    assert len(named) > 25
    for file, name in named:
        exists = f"def {name}(" in Path("tests", file).read_text(encoding="utf-8")
        assert exists, f"SECURITY.md names {file}::{name}, which is gone: name what replaces it"
