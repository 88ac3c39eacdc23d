"""The back office speaks its reader's language: no text of any page is without translation.

While a page is made, every letter that gettext gives is put into another alphabet, if it has a
translation. A letter of ours that is left belongs to a text that nobody has marked, or translated;
or it is data.
"""

import re
from html.parser import HTMLParser

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import RequestFactory
from django.urls import reverse
from django.utils.translation import _trans, trans_real

from accounts.models import User
from mail.outbox import OutgoingMail
from tests.browser.rows import fill

pytestmark = pytest.mark.django_db
LANGUAGES = pytest.mark.parametrize("language", ["de", "sv"])
KEPT = re.compile(r"(<[^>]*>|&\w+;|%\(\w+\)[sdr]|%[sdr]|\{\w*\})")  # of a text: not its words
SHOWN = {"title", "alt", "aria-label", "placeholder", "label"}
# What is no text: it is the same in every language, or whoever typed it chose its words.
DATA = [
    r"\S+@\S+",  # an e-mail address
    r"https?://\S+",
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",  # a key
    r"[0-9a-f:]+::/64",
    r"\b(True|False)\b",  # Django's, behind its icons
    r"\bUTC\b",
    "English|Deutsch|Svenska",  # each says its own name
    r'\{".*"\}',  # the detail of a record, as it is stored
    r"\bSMTP\w+",  # an error's kind
    r"\b[a-z]+\.[a-z_]+\b",  # the kind of a mail
    "Group-permission relationships?|Group_permissions object",  # Django's, never translated
]
BOSS = RequestFactory().get("/")
BOSS.user = User(is_superuser=True, is_staff=True)


def foreign(text):
    parts = KEPT.split(text)
    return "".join(
        part if number % 2 else re.sub(r"[^\W\d_]", "λ", part) for number, part in enumerate(parts)
    )


@pytest.fixture
def other_alphabet(monkeypatch):
    one, many = trans_real.gettext, trans_real.ngettext

    def known(key):
        return key in getattr(trans_real.catalog(), "_catalog", {})

    def gettext(message):
        said = one(message)
        return foreign(said) if known(str(message)) else said

    def ngettext(singular, plural, number):
        said = many(singular, plural, number)
        return foreign(said) if known((singular, 1)) else said

    for module in (trans_real, _trans):
        monkeypatch.setattr(module, "gettext", gettext)
        monkeypatch.setattr(module, "ngettext", ngettext)


class Texts(HTMLParser):
    """Every text that a page shows, or says to who cannot see."""

    def __init__(self, page):
        super().__init__()
        self.found, self.silent = [], 0
        self.feed(page.replace("<wbr>", ""))

    def handle_starttag(self, tag, attributes):
        self.silent += tag in {"script", "style"}
        said = dict(attributes)
        self.found += [said[name] or "" for name in SHOWN & said.keys()]
        if "selectfilter" in said.get("class", ""):
            self.found.append(said["data-field-name"])
        if tag == "input" and said.get("type") in {"submit", "button", "reset"}:
            self.found.append(said.get("value") or "")

    def handle_endtag(self, tag):
        self.silent -= tag in {"script", "style"}

    def handle_data(self, text):
        if not self.silent:
            self.found.append(text.strip())


def english(answer):
    """The texts of a page in which a letter is left that is not data's."""
    assert answer.status_code in {200, 403, 429}, answer
    data = re.compile("|".join([*DATA, *map(re.escape, typed())]))
    texts = Texts(answer.content.decode()).found
    return {text for text in texts if re.search("[a-zA-Z]", data.sub("", text))}


def typed():
    """What stands in the tables as somebody has typed it, or as a program calls itself; and the
    permissions' names, which Django stores in English. The longest come first."""
    tables = [*admin.site._registry, Permission]
    columns = [
        (model, column.name)
        for model in tables
        for column in model._meta.concrete_fields
        if column.get_internal_type() == "CharField" and not column.choices
    ]
    columns.remove((OutgoingMail, "problem"))  # in words of ours
    found = {text for model, name in columns for text in model.objects.values_list(name, flat=True)}
    return sorted(filter(None, found), key=len, reverse=True)


@pytest.fixture
def reader(operator, other_alphabet, language):
    operator.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    return operator


def pages():
    """Every page of the site that is looked at, with one row of each model's."""
    keys = fill()
    yield "/admin/"
    yield "/admin/?q=bob"
    yield "/admin/?q=000"
    for app in {model._meta.app_label for model in admin.site._registry}:
        yield f"/admin/{app}/"
    for model, site in admin.site._registry.items():
        name, key = model._meta.label_lower.replace(".", "_"), keys[model._meta.label]
        yield reverse(f"admin:{name}_changelist")
        yield reverse(f"admin:{name}_change", args=[key])
        yield reverse(f"admin:{name}_history", args=[key])
        if site.has_add_permission(BOSS):
            yield reverse(f"admin:{name}_add")
        if site.has_delete_permission(BOSS):
            yield reverse(f"admin:{name}_delete", args=[key])


@LANGUAGES
def test_every_page_speaks_the_readers_language(reader):
    found = {page: english(reader.get(page, follow=True)) for page in pages()}

    assert not any(found.values()), {page: texts for page, texts in found.items() if texts}
