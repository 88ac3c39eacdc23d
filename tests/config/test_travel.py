"""How far a call travels through the house: the figures of docs/architecture.md."""

import itertools
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from accounts.models import User
from tests.conftest import API, PASSWORD

pytestmark = pytest.mark.django_db

HOUSE = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
FOLDERS = tuple(f"{Path(app).absolute()}/" for app in HOUSE["root_packages"])
PAGE = Path("docs/architecture.md").read_text("utf-8")
FIGURES = re.compile(r"^\| `(.+)` \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def travel(call: Callable[[], Any]) -> tuple[int, int, int]:
    """The files of ours that run for a call, their functions, and how often the file changes.
    Comprehensions are of the function that they stand in."""
    steps: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(FOLDERS):
            steps.append((code.co_filename, re.sub(r"\.<locals>\.<.*", "", code.co_qualname)))

    sys.setprofile(note)
    try:
        answer = call()
    finally:
        sys.setprofile(None)
    assert answer.status_code == 200
    files = [file for file, _ in steps]
    return len(set(files)), len(set(steps)), sum(a != b for a, b in itertools.pairwise(files))


def test_calls_travel_no_farther_than_the_page_says(api: API, ada: User, as_ada: API) -> None:
    body = {"email": ada.email, "password": PASSWORD}
    calls = {
        "GET /auth/me": lambda: as_ada.get("/auth/me"),
        "POST /auth/login": lambda: api.post("/auth/login", body),
    }
    figures = {call: tuple(map(int, numbers)) for call, *numbers in FIGURES.findall(PAGE)}
    assert figures.keys() == calls.keys()

    for name, call in calls.items():
        call()  # reads keys, connects to the store, and keeps what is kept
        found = []
        for _ in range(3):  # in one of them it may be time to look after the keys
            api.cookies.clear()
            found.append(travel(call))

        assert all(of <= said for of, said in zip(min(found), figures[name], strict=True)), found
