"""The back office speaks its reader's language: no text of any page is without translation.

While a page is made, every letter that gettext gives is put into another alphabet, if it has a
translation. A letter of ours that is left belongs to a text that nobody has marked, or translated;
or it is data.
"""

import base64
import json
import re
from html.parser import HTMLParser

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import RequestFactory
from django.urls import reverse
from django.utils.translation import _trans, trans_real

from accounts.models import Account, User
from audit.models import Kind, Record
from invitations.models import Invitation
from mail.outbox import NOTHING_TO_SEND, OutgoingMail
from privacy import erasure
from signin.factors.models import Factors, Passkey
from tests.backoffice.test_second_factor import Browser
from tests.browser.rows import LONG, fill
from tests.conftest import PASSWORD
from tests.signin.factors.conftest import code
from throttling.models import Lockout

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
    r"\b[A-Z2-7-]{19,32}\b",  # an app's secret, a recovery code
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
    assert answer.status_code in {200, 400, 403, 404, 429, 500}, answer
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


def tell_more_of(key):
    """What else a person's page and the lists may have to say."""
    bob, other = User.objects.get(pk=key), Account.objects.create(name="Another")
    Factors.objects.get(user=bob).add_totp(b"0" * 20, 0, "")  # which is mailed
    Passkey.objects.create(factors=bob.factors, credential=b"", handle=b"", name="Bob")
    OutgoingMail.objects.filter(email="new@example.com").update(problem=NOTHING_TO_SEND)
    Invitation.objects.create(account=other, email=bob.email)
    Lockout.objects.record_failure(bob.email, "device")


def pages():
    """Every page of the site that is looked at, with one row of each model's."""
    keys = fill()
    tell_more_of(keys["accounts.User"])
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


def acts(keys):
    """Each action of each list, asked about and taken, on one row."""
    for model, site in admin.site._registry.items():
        page = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")
        for name in site.get_actions(BOSS).keys() - {"export"}:
            form = {"action": name, "_selected_action": keys[model._meta.label]}
            yield page, form
            yield page, form | {"post": "yes"}


def forms(keys):
    """What is refused, and what is erased in the end."""
    person, company = (f"/admin/accounts/{one}/change/" for one in (
        f"user/{keys['accounts.User']}", f"account/{keys['accounts.Account']}"))  # fmt: skip
    boss = User.objects.get(email=LONG)
    yield person, {"first_name": "www.example.com", "last_name": "", "language": "en"}
    yield person, {"first_name": "Bob", "email": LONG, "language": "en"}
    yield person, {"first_name": "Robert", "email": "robert@example.com", "language": "de"}
    yield company, {"name": "Operators"}
    yield "/admin/invitations/invitation/add/", {
        "account": boss.account_id, "email": LONG, "role": "member", "language": "en"
    }  # fmt: skip
    yield f"/admin/accounts/user/{boss.pk}/change/", {"_do": "deactivate", "post": "yes"}
    yield f"/admin/accounts/user/{boss.pk}/change/", {"_do": "erase", "confirmed": LONG}
    yield person, {"_do": "erase", "confirmed": "robert"}
    yield person, {"_do": "erase", "confirmed": "robert@example.com"}
    yield company, {"_do": "erase", "confirmed": "Analytical Engines"}
    yield "/admin/password-link/", {}
    yield "/admin/logout/", {}
    yield "/admin/login/", {"username": LONG, "password": "wrong guess"}


@LANGUAGES
@pytest.mark.parametrize("steps", [acts, forms])
def test_every_act_answers_in_the_readers_language(reader, steps, monkeypatch):
    monkeypatch.setattr(erasure, "SETTLED", 0)
    found = {}
    for page, form in steps(fill()):
        answer = reader.post(page, form, follow=True)
        found[f"{page} {form}"] = english(answer)

    assert not any(found.values()), {act: texts for act, texts in found.items() if texts}


@LANGUAGES
@pytest.mark.parametrize(
    ("page", "status"),
    [("nothing/", 404), ("accounts/user/?password=x", 400), ("accounts/user/", 403), ("", 500)],
)
def test_errors_speak_the_readers_language(reader, page, status, monkeypatch):
    monkeypatch.setattr("backoffice.site.overview", None)
    reader.raise_request_exception = False
    User.objects.update(is_superuser=status != 403)
    answer = reader.get(f"/admin/{page}")

    assert answer.status_code == status
    assert not english(answer)


@LANGUAGES
def test_history_names_columns_in_the_readers_language(reader):
    page = f"/admin/accounts/user/{fill()['accounts.User']}"
    news = {"first_name": "Robert", "email": "robert@example.com", "language": "de"}
    reader.post(f"{page}/change/", news)
    history = reader.get(f"{page}/history/")

    assert LogEntry.objects.get().is_change()
    assert not english(history)


@LANGUAGES
def test_staff_are_refused_in_the_readers_language(reader):
    keys = fill()
    User.objects.filter(email="op@example.com").update(is_superuser=False)
    clerk = User.objects.get(email="op@example.com")
    clerk.user_permissions.set(Permission.objects.filter(codename__endswith="_user"))
    User.objects.filter(pk=keys["accounts.User"]).update(is_staff=True)
    form = {"action": "make_admin", "_selected_action": keys["accounts.User"], "post": "yes"}
    answer = reader.post("/admin/accounts/user/", form, follow=True)

    assert "Bob@example.com: λ" in answer.content.decode()
    assert not english(answer)


def log_in_page(language):
    browser = Browser()
    browser.client.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    browser.page = browser.client.get("/admin/login/?next=/admin/")
    return browser


@LANGUAGES
def test_log_in_with_a_second_factor_speaks_the_readers_language(
    reader, settings, language, password_hash
):
    settings.STAFF_SECOND_FACTOR = True
    User.objects.update(password=password_hash)
    browser = log_in_page(language)
    pages = [browser.page, browser.post(username="op@example.com", password="wrong guess")]
    pages += [browser.post(username="op@example.com", password=PASSWORD)]
    secret = base64.b32decode(re.search("<code>(.+)</code>", browser.page.content.decode())[1])
    pages += [browser.post(code="000000"), browser.post(code=code(0, secret))]
    browser = log_in_page(language)
    pages += [browser.post(username="op@example.com", password=PASSWORD), browser.post(code="0")]
    settings.RATE_LIMIT_CREDENTIAL = 1
    pages += [browser.post(code="0")]

    assert [page.status_code for page in pages] == [200] * 7 + [429]
    assert not {text for page in pages for text in english(page)}


def test_apps_stand_in_one_order_for_every_reader(operator):
    orders = set()
    for language in ("en", "de", "sv"):
        page = operator.get("/admin/", headers={"accept-language": language}).content.decode()
        orders.add(tuple(re.findall('<tr class="model-([a-z]+)', page)))

    assert len(orders) == 1


def test_log_and_trail_are_the_same_for_every_reader(operator, ada):
    operator.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    form = {"account": ada.account_id, "email": "c@example.com", "role": "member", "language": "de"}
    operator.post("/admin/invitations/invitation/add/", form)
    page = f"/admin/accounts/user/{ada.pk}/change/"
    news = {"first_name": "Augusta", "last_name": "King", "language": "de", "email": ada.email}
    operator.post(page, news)
    names = ["First name", "Last name", "Language"]

    invited, renamed = LogEntry.objects.order_by("pk")
    assert invited.object_repr == "invitation for c@example.com"  # by which an erasure finds it
    assert json.loads(renamed.change_message) == [{"changed": {"fields": names}}]
    assert Record.objects.get(kind=Kind.ADMIN_CHANGED).detail["fields"] == names
