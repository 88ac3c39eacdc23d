"""Production code leans on no private name of a library but those that docs/internals.md lists."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

PAGE = Path("docs/internals.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| `([\w/.]+)` \| `([\w.()]+)`", PAGE, re.MULTILINE)
DOCUMENTED = set(re.findall(r"`(_\w+)`", PAGE.partition("documented all the same")[2]))
APPS = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
FILES = [path for app in APPS for path in Path(app).rglob("*.py") if "migrations" not in path.parts]


def names(tree):
    """Whatever the code reads, sets, imports or overrides by its name."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, named, *_]):
                yield str(getattr(named, "value", ""))


def private(source):
    found = set(names(ast.parse(source)))
    return {name for name in found if re.match(r"_(?!_)", name)} - DOCUMENTED


def test_no_private_name_but_those_listed():
    found = {(str(path), name) for path in FILES for name in private(path.read_text())}
    listed = {(path, name.rpartition(".")[2]) for path, name in LISTED}

    assert found <= listed


@pytest.mark.parametrize(("path", "name"), LISTED)
def test_what_is_listed_is_still_leant_on(path, name):
    assert name in Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "source",
    ["a._b", "a._b = 1", "from a import _b", "import a._b", "getattr(a, '_b', None)",
     "class A:\n def _b(self): pass"],
)  # fmt: skip
def test_private_names_are_found(source):
    assert private(source) == {"_b"}
