"""The client's types, which a front-end copies beside it, are those of its code."""

import pytest

from tests.client.conftest import FOLDER, run

pytestmark = pytest.mark.client

KEPT = FOLDER / "../../pages/static/pages/client.d.ts"


def test_kept_types_are_what_the_code_says():
    kept = KEPT.read_text(encoding="utf-8")

    assert run("npx", "tsc", "-p", "tsconfig.types.json") == ""
    assert (FOLDER / "made/types/client.d.ts").read_text(encoding="utf-8") == kept
