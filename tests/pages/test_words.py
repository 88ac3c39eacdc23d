"""The texts of pages and mails are translated, and the compiled catalogs are up to date."""

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


def template_msgids(catalog):
    """Every msgid of the catalog's templates; of a plural, its singular form."""
    msgids = set()
    for path in Path(TEMPLATES[str(catalog.parents[3])]).rglob("*.*"):
        code = templatize(path.read_text(encoding="utf-8"))
        texts = CALL.findall(code) + [singular for singular, _ in PLURAL.findall(code)]
        msgids |= {ast.literal_eval(text) for text in texts}
    return msgids


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_every_text_is_translated(path):
    catalog = polib.pofile(str(path))
    translated = {entry.msgid for entry in catalog if all(forms(entry))}

    compare(
        translated, template_msgids(path), f"translate the text in {path}, then `make messages`"
    )


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_compiled_catalog_is_up_to_date(path):
    compiled = polib.mofile(str(path.with_suffix(".mo")))
    catalog_texts = {entry.msgid: forms(entry) for entry in polib.pofile(str(path))}

    texts = {entry.msgid: forms(entry) for entry in compiled}
    assert texts == catalog_texts, f"{path.with_suffix('.mo')} is older: run `make messages`"


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_translations_keep_the_placeholders(path):
    for entry in polib.pofile(str(path)):
        places = re.findall(r"{\w+}|%\(\w+\)s", entry.msgid)

        for form in forms(entry):
            form_places = re.findall(r"{\w+}|%\(\w+\)s", form)
            assert form_places == places, f"{path}: “{form}” needs {places}, in this order"


@pytest.mark.parametrize("path", CATALOGS, ids=str)
def test_catalogs_translate_a_text_equally(path):
    with translation.override(path.parent.parent.name):
        differing = [
            entry.msgid
            for entry in polib.pofile(str(path))
            if translation.gettext(entry.msgid) != forms(entry)[0]
        ]

    assert differing == [], f"another catalog translates these texts differently from {path}"


def test_reasons_to_refuse_a_password_are_translated(api):
    page = api.get("/login", headers={"accept-language": "de"}).content.decode()

    for rule in (CommonPasswordRule, PersonalPasswordRule, BreachedPasswordRule):
        assert re.search(f'<data value="{rule.message}">(?!{rule.message})', page)
