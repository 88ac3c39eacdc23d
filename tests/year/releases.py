"""Releases of the year: this one, and later ones made of it, each in a folder of its own."""

import re
import shutil
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
PARTS = [*PROJECT["tool"]["importlinter"]["root_packages"], "templates", "locale", "deploy"]
FILES = ["manage.py", "gunicorn.conf.py", "pyproject.toml"]
MAIL_OF_TOMORROW = "notice.of_tomorrow"
MIGRATION = """from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "{before}")]
    operations = [
        migrations.RunSQL("ALTER TABLE accounts_account ADD COLUMN {name} text"),
        migrations.RunSQL("CREATE TABLE accounts_{name} (id bigserial PRIMARY KEY, word text)"),
    ]
"""


def copy(to, version):
    """This release in a folder, under another version."""
    for part in PARTS:
        shutil.copytree(part, to / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(file, to / file)
    text = (to / "pyproject.toml").read_text(encoding="utf-8")
    text, changed = re.subn(r'(?m)^version = ".*"', f'version = "{version}"', text, count=1)
    assert changed == 1
    (to / "pyproject.toml").write_text(text, encoding="utf-8")
    return to


def later(before, to, version):
    """The release after another: it adds a column and a table, as migrations here do."""
    shutil.copytree(before, to, ignore=shutil.ignore_patterns("__pycache__"))
    text = (to / "pyproject.toml").read_text(encoding="utf-8")
    new = re.sub(r'(?m)^version = ".*"', f'version = "{version}"', text, count=1)
    (to / "pyproject.toml").write_text(new, encoding="utf-8")
    migrations = to / "accounts/migrations"
    newest = max(migrations.glob("0*.py"))
    name = f"of_{version.replace('.', '_')}"
    number = int(newest.name[:4]) + 1
    migration = MIGRATION.format(before=newest.stem, name=name)
    (migrations / f"{number:04}_{name}.py").write_text(migration, encoding="utf-8")
    return to


def with_new_mail(release):
    """The release also knows a kind of mail that those before do not."""
    name = release / "templates/emails" / MAIL_OF_TOMORROW.removeprefix("notice.")
    for ending, text in {
        ".subject.txt": "Of tomorrow",
        ".txt": "New.",
        ".html": "<p>New.</p>",
    }.items():
        name.with_name(name.name + ending).write_text(text, encoding="utf-8")
    return release
