"""The picture of the house is the import-linter's contract."""

import itertools
import re
import tomllib
from pathlib import Path

CONTRACT = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
PICTURE = Path("docs/architecture.md").read_text("utf-8").partition("```mermaid")[2]


def test_picture_shows_the_layers_as_they_are_checked():
    layers = [layer.replace(" | ", " & ") for layer in CONTRACT["contracts"][0]["layers"]]
    arrows = re.findall(r"^    (.+) --> (.+)$", PICTURE.partition("```")[0], re.MULTILINE)

    assert arrows == list(itertools.pairwise(layers))


def test_every_app_is_in_the_contract():
    apps = {path.parent.name for path in Path().glob("*/__init__.py")} - {"tests", "benchmarks"}

    assert apps == set(CONTRACT["root_packages"])


def cited(page):
    """The sections of a page of the contract that production code names."""
    files = [path for app in CONTRACT["root_packages"] for path in Path(app).rglob("*.py")]
    code = "".join(file.read_text("utf-8") for file in files)
    lists = re.findall(rf"{page} ((?:§\d+(?:, | and )?)+)", code)
    return {int(number) for found in lists for number in re.findall(r"\d+", found)}


def sections(page):
    text = Path(f"docs/{page}.md").read_text("utf-8")
    return {int(number) for number in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)}


def test_code_cites_sections_of_the_contract_that_are_there():
    assert {2, 4, 5, 7, 8} <= cited("interface") <= sections("interface")
