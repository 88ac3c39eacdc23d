"""The back office's catalogs: every text that it shows is in them, and nothing else."""

import ast
import gettext
import json
import re
from pathlib import Path

import django
import polib
import pytest
from django.apps import apps
from django.contrib import admin
from django.test import RequestFactory
from django.utils import translation
from django.utils.translation.template import templatize

from accounts.errors import EmailTaken, LastAdmin
from accounts.models import User
from invitations.exceptions import InvitationRefused
from mail.kinds import known_kinds
from mail.links import EmailedLink
from mail.notices import PREFIX
from tests.backoffice.test_languages import Texts
from tests.test_mails import CALL, PLURAL, placeholders

LANGUAGES = ["de", "sv"]
MARKS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
OTHERS = {Path("pages/words.py"), Path("privacy/erasure.py")}  # the pages' and the mails' words
APPS = sorted(path.parent for path in Path().glob("*/apps.py"))
# Django's German calls it as we call a company's admins, who are something else.
OVERRULED = {"de": {"superuser status"}, "sv": set()}
CATALOGS = ["locale", "assistants/locale", "pages/locale"]  # which Django merges with ours
# What speaks to operators at a shell, or to the log; and the groups' names, which are stored.
NOT_SHOWN = {"checks.py", "lookups.py", "rights.py", "roles.py", "status.py"}


def catalog(language, top="backoffice/locale"):
    return Path(top) / language / "LC_MESSAGES" / "django.po"


def unmarked(code):
    """The sentences of a module that it does not hand to gettext, but for its docstrings."""
    tree = ast.parse(code)
    known = {id(part) for call in calls(tree) for part in ast.walk(call)}
    known |= {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    texts = [
        one for one in ast.walk(tree) if isinstance(one, ast.Constant) and id(one) not in known
    ]
    for text in [one.value for one in texts if isinstance(one.value, str)]:
        if re.search("[A-Za-z][^ ]* +[A-Za-z]", text) and "%Y" not in text:
            yield text


def calls(tree):
    return [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") in MARKS
    ]


def marked(code):
    """The texts that a module hands to gettext; of a plural the singular."""
    for call in calls(ast.parse(code)):
        if isinstance(call.args[0], ast.Constant):
            yield call.args[0].value


def of_modules():
    modules = {path for app in APPS for path in app.rglob("*.py") if app.name != "pages"}
    return {text for path in modules - OTHERS for text in marked(path.read_text("utf-8"))}


def of_templates():
    found = set()
    for path in Path("backoffice/templates").rglob("*.html"):
        code = templatize(path.read_text("utf-8"))
        found |= {ast.literal_eval(text) for text in CALL.findall(code)}
        found |= {ast.literal_eval(one) for one, _ in PLURAL.findall(code)}
    return found


def of_models():
    """How models and columns are called, also as the log writes down a form's."""
    request, found = RequestFactory().get("/"), set()
    request.user = User(is_superuser=True, is_staff=True)
    found |= {model._meta.verbose_name for model in apps.get_models()}  # a group's permissions
    for model, site in admin.site._registry.items():
        meta = model._meta
        found.add(meta.verbose_name_plural)
        found |= {said for one in meta.get_fields() if hasattr(one, "verbose_name")
                  for said in (one.verbose_name, one.help_text) if said}  # fmt: skip
        row = model()
        row.is_staff = True  # somebody who may have groups
        if site.has_change_permission(request, row):
            form = site.get_form(request, row, change=True)
            found |= {field.label for field in form.base_fields.values()}
    return {str(name) for name in found}


def of_notices():
    links = {PREFIX + kind.mail_name for kind in EmailedLink.kinds()}
    notices = {kind for kind, model in known_kinds().items() if model is None} - links
    return {kind.removeprefix(PREFIX).replace("_", " ") for kind in notices}


def written():
    with translation.override(None):  # in no language: the texts as they are written
        return of_modules() | of_templates() | of_models() | of_notices()


def of_django(language):
    """What Django says itself, in any of its apps."""
    found = {}
    for path in Path(django.__file__).parent.rglob(f"locale/{language}/LC_MESSAGES/django.mo"):
        with path.open("rb") as file:
            found |= gettext.GNUTranslations(file)._catalog
    return {key for key, said in found.items() if isinstance(key, str) and said}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_and_nothing_else(language):
    entries = polib.pofile(str(catalog(language)))

    wanted = written() - of_django(language) | OVERRULED[language]
    assert {entry.msgid for entry in entries} == wanted
    assert entries.percent_translated() == 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_text_has_one_translation_in_all_catalogs(language):
    ours = {entry.msgid: entry.msgstr for entry in polib.pofile(str(catalog(language)))}
    others = [entry for top in CATALOGS for entry in polib.pofile(str(catalog(language, top)))]

    assert not {one.msgid for one in others if ours.get(one.msgid, one.msgstr) != one.msgstr}


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_name_what_the_texts_name(language):
    for entry in polib.pofile(str(catalog(language))):
        for text in entry.msgstr_plural.values() or [entry.msgstr]:
            assert placeholders(text) == placeholders(entry.msgid), text


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_catalog_is_the_written_one(language):
    for path in catalog(language).parent.glob("*.po"):
        assert polib.pofile(str(path)).to_binary() == path.with_suffix(".mo").read_bytes()


@pytest.mark.parametrize("language", LANGUAGES)
def test_scripts_of_the_group_form_say_it_too(operator, language):
    script = Path(django.__file__).parent / "contrib/admin/static/admin/js/SelectFilter2.js"
    texts = {
        text for _, text in re.findall(r"gettext\((['\"])(.+?)\1\)", script.read_text("utf-8"))
    }
    answer = operator.get("/admin/jsi18n/", headers={"accept-language": language})
    said = json.loads(re.search(r"newcatalog = ({.+?});", answer.content.decode(), re.DOTALL)[1])

    assert texts <= {text for text, translation in said.items() if translation}
    assert len(texts) > 5


def test_no_sentence_of_a_module_is_unmarked():
    modules = {*Path().glob("*/admin.py"), *Path("backoffice").glob("*.py")}
    shown = {path for path in modules if path.name not in NOT_SHOWN}
    found = {text for path in shown for text in unmarked(path.read_text("utf-8"))}

    assert found == {'attachment; filename="audit.csv"'}  # a header


@pytest.mark.parametrize("path", sorted(Path("backoffice/templates").rglob("*.html")), ids=str)
def test_no_text_of_a_template_is_unmarked(path):
    whole = "(?s){% blocktranslate.*?{% endblocktranslate %}|{% block bodyclass %}.*?{% endblock %}"
    code = re.sub(whole, "", path.read_text("utf-8"))
    texts = Texts(re.sub("(?s){%.*?%}|{{.*?}}", "", code)).found

    assert not [text for text in texts if re.search("[a-zA-Z]", text)]


def test_every_refusal_is_translated():
    """They are the API's words, which only the back office says in other languages."""
    refusals = {EmailTaken, LastAdmin, *InvitationRefused.__subclasses__()}

    assert {kind.default_detail for kind in refusals} <= of_modules()
