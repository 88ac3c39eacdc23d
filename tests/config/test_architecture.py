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


def test_no_file_is_over_400_lines():
    files = [path for app in CONTRACT["root_packages"] for path in Path(app).rglob("*.py")]
    lines = {str(path): path.read_text("utf-8").count("\n") for path in files}

    assert len(lines) > 200
    assert [path for path, number in lines.items() if number > 400] == []
