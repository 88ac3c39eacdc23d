"""Prints every text that customers read, in three languages, as Markdown tables: `make texts`."""

import sys
from itertools import zip_longest
from pathlib import Path

import polib

CATALOGS = {"Mails": "locale", "Pages": "pages/locale", "Connected apps": "assistants/locale"}


def forms(entry: polib.POEntry) -> list[str]:
    """A text, or its singular and plural."""
    return [entry.msgstr_plural[form] for form in sorted(entry.msgstr_plural)] or [entry.msgstr]


def write_catalog(folder: str) -> None:
    german, swedish = (
        polib.pofile(str(Path(folder, language, "LC_MESSAGES", "django.po")))
        for language in ("de", "sv")
    )
    for entry in german:
        translations = swedish.find(entry.msgid, msgctxt=entry.msgctxt)
        english = [text for text in (entry.msgid, entry.msgid_plural) if text]
        texts = zip_longest(
            english, forms(entry), forms(translations) if translations else [], fillvalue=""
        )
        for row in texts:
            cells = [text.replace("|", "\\|").replace("\n", "<br>") for text in row]
            sys.stdout.write(f"| {' | '.join(cells)} |\n")


if __name__ == "__main__":
    for title, folder in CATALOGS.items():
        sys.stdout.write(f"\n## {title}\n\n| English | German | Swedish |\n|---|---|---|\n")
        write_catalog(folder)
