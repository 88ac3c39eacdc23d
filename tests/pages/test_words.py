"""The words of pages and mails are translated, and what was compiled is what was written."""

import ast
import re
from pathlib import Path

import polib
import pytest
from django.utils import translation
from django.utils.translation.template import templatize

from accounts.validators import BreachedPasswordRule, CommonPasswordRule, PersonalPasswordRule
from tests.tables import compare
from tests.texts import forms

# The templates of each folder of catalogs; the first is the mails'.
TEMPLATES = {
    ".": "templates/emails",
    "assistants": "assistants/templates",
    "pages": "pages/templates",
}
CATALOGS = [
    Path(app, "locale", code, "LC_MESSAGES/django.po") for app in TEMPLATES for code in ("de", "sv")
]
CALL = re.compile(r"(?:\b_|gettext)\((u?(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"))")
PLURAL = re.compile(r"ngettext\((u?'(?:\\.|[^'\\])*'), (u?'(?:\\.|[^'\\])*')")


def written_words(catalog):
    """Every msgid of the templates, a plural's singular form."""
    found = set()
    for path in Path(TEMPLATES[str(catalog.parents[3])]).rglob("*.*"):
        code = templatize(path.read_text(encoding="utf-8"))
        texts = CALL.findall(code) + [one for one, _ in PLURAL.findall(code)]
        found |= {ast.literal_eval(text) for text in texts}
    return found


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_every_word_is_translated(path):
    catalog = polib.pofile(str(path))
    translated = {entry.msgid for entry in catalog if all(forms(entry))}

    compare(translated, written_words(path), f"translate the text in {path}, then `make messages`")


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_compiled_catalog_is_the_written_one(path):
    compiled = polib.mofile(str(path.with_suffix(".mo")))
    written = {entry.msgid: forms(entry) for entry in polib.pofile(str(path))}

    texts = {entry.msgid: forms(entry) for entry in compiled}
    assert texts == written, f"{path.with_suffix('.mo')} is older: run `make messages`"


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_translations_keep_the_places_for_values(path):
    for entry in polib.pofile(str(path)):
        places = re.findall(r"{\w+}|%\(\w+\)s", entry.msgid)

        for form in forms(entry):
            kept = re.findall(r"{\w+}|%\(\w+\)s", form)
            assert kept == places, f"{path}: “{form}” needs {places}, in this order"


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_no_other_catalog_says_a_word_differently(path):
    with translation.override(path.parent.parent.name):
        others = [
            entry.msgid
            for entry in polib.pofile(str(path))
            if translation.gettext(entry.msgid) != forms(entry)[0]
        ]

    assert others == [], f"another catalog translates these texts differently from {path}"


def test_reasons_to_refuse_a_password_are_translated(api):
    page = api.get("/login", headers={"accept-language": "de"}).content.decode()

    for rule in (CommonPasswordRule, PersonalPasswordRule, BreachedPasswordRule):
        assert re.search(f'<data value="{rule.message}">(?!{rule.message})', page)
