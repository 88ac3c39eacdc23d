"""docs/production.md names only what is there."""

import re
from pathlib import Path

from django.apps import apps
from django.core.management import get_commands, load_command_class

GUIDE = Path("docs/production.md")


def test_commands_and_their_options_exist():
    text = GUIDE.read_text(encoding="utf-8")
    told = re.findall(r"manage\.py ([a-z]+)((?: --?[a-z-]+)*)", text)
    told += re.findall(r"^\| `([a-z]+)(?=[ `])((?: \[?--[a-z-]+\]?)*)", text, re.MULTILINE)

    assert len(told) > 15
    for name, options in told:
        command = load_command_class(get_commands()[name], name)
        usage = command.create_parser("manage.py", name).format_help()
        assert all(option in usage for option in re.findall(r"--[a-z-]+", options)), name


def test_linked_files_exist():
    links = re.findall(r"\]\((\S+?)\)", GUIDE.read_text(encoding="utf-8"))

    assert [link for link in links if not (GUIDE.parent / link).exists()] == []


def test_versions_are_those_that_are_pinned():
    pins = Path("requirements.txt").read_text(encoding="utf-8").split()
    told = re.findall(r"(?<= )[\w-]+==[\d.]+\d", GUIDE.read_text(encoding="utf-8"))

    assert told
    assert set(told) <= set(pins)


# Tables whose rows are few, or no caller's doing.
NO_GROWTH = {
    "keys_signingkey",  # one a rotation
    "mail_mailtally",  # one for each end that a mail can come to
    "django_content_type",
    "accounts_user_groups",
    "accounts_user_user_permissions",
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
}


def test_growth_of_every_table_is_told():
    text = GUIDE.read_text(encoding="utf-8").partition("| table | bytes a row |")[2]
    told = set(re.findall(r"`(\w+_\w+)`", text.partition("\n\n")[0]))
    models = apps.get_models(include_auto_created=True)

    assert {model._meta.db_table for model in models} - told == NO_GROWTH
