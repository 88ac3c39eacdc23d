"""Guides name commands, options, pages and headings that exist."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

NAMES = "configuration", "embedded-database", "incidents", "install", "operations"
PAGES = [Path(f"docs/{name}.md") for name in NAMES]
LINKING = [*Path().glob("*.md"), *Path("docs").rglob("*.md"), Path("llms.txt")]
LINK = re.compile(r"\]\((?!https:)([^\s#)]*)#?([^\s)]*)\)")


def anchors(page):
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_commands_and_options_in_guides_exist():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = re.findall(r"manage\.py ([a-z]+)([^`\n]*)", text)

    assert len(commands) > 30
    for name, arguments in commands:
        command = load_command_class(get_commands()[name], name)
        usage = command.create_parser("manage.py", name).format_help()
        unknown = [option for option in re.findall(r"--[a-z-]+", arguments) if option not in usage]
        assert not unknown, f"a guide names manage.py {name} {arguments}, which has no {unknown}"


@pytest.mark.parametrize("page", LINKING, ids=str)
def test_links_in_guides_lead_to_pages_and_headings(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        there = page.parent / path if path else page
        assert there.exists(), f"{page} links to {path}, which isn't there: correct the link"
        advice = f"{page} links to {there.name}#{anchor}, but no heading there makes this anchor"
        assert not anchor or anchor in anchors(there), advice
