"""The migrations of earlier releases stay as they were."""

import hashlib
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# SHA-256 of each released migration. A release adds its own; none is ever changed.
RELEASED = json.loads((HERE / "migrations.json").read_text("utf-8"))


@pytest.mark.parametrize("path", RELEASED)
def test_released_migration_stays_as_it_was(path):
    advice = f"{path} is released: restore it, and make the change by a new migration"
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == RELEASED[path], advice
