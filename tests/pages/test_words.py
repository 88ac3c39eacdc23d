"""The pages' words: each has its translation, and what was compiled is what was written."""

import re
from pathlib import Path

import polib
import pytest
from django.utils import translation

from accounts.passwords import Breached, Common, Personal
from tests.texts import forms

APPS = ["assistants", "pages"]
CATALOGS = [Path(f"{a}/locale/{code}/LC_MESSAGES/django.po") for a in APPS for code in ("de", "sv")]


def written_words(app):
    """Every string that templates and modules of an app with pages hand to gettext."""
    found = set()
    for template in Path(f"{app}/templates").rglob("*.html"):
        text = template.read_text(encoding="utf-8")
        found |= set(re.findall(r"""{% translate (?:"|')(.+?)(?:"|') (?:as|%)""", text))
        for block in re.findall(r"{% blocktranslate[^%]*%}(.+?){% (?:plural|endblock)", text):
            found.add(re.sub(r"{{ (\w+) }}", r"%(\1)s", block))
    return found


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_every_word_is_translated(path):
    catalog = polib.pofile(str(path))
    translated = {entry.msgid for entry in catalog if all(forms(entry))}

    assert translated == written_words(path.parts[0])


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_compiled_catalog_is_the_written_one(path):
    compiled = polib.mofile(str(path.with_suffix(".mo")))
    written = {entry.msgid: forms(entry) for entry in polib.pofile(str(path))}

    assert {entry.msgid: forms(entry) for entry in compiled} == written


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_translations_keep_the_places_for_values(path):
    for entry in polib.pofile(str(path)):
        places = re.findall(r"{\w+}|%\(\w+\)s", entry.msgid)

        assert all(re.findall(r"{\w+}|%\(\w+\)s", form) == places for form in forms(entry))


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_no_other_catalog_says_a_word_differently(path):
    with translation.override(path.parts[2]):
        others = [
            entry.msgid
            for entry in polib.pofile(str(path))
            if translation.gettext(entry.msgid) != forms(entry)[0]
        ]

    assert others == []


def test_reasons_to_refuse_a_password_are_translated(api):
    page = api.get("/login", headers={"accept-language": "de"}).content.decode()

    for rule in (Common, Personal, Breached):
        assert re.search(f'<data value="{rule.message}">(?!{rule.message})', page)
