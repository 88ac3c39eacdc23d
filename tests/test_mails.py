"""The mails for links: each language whole, names escaped, no header tricks."""

import ast
import re
from datetime import timedelta
from email.header import decode_header, make_header
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.core import mail
from django.utils import timezone
from django.utils.translation.template import templatize

from accounts.mail.outbox import OutgoingMail
from accounts.mail.worker import Worker
from accounts.models import Account, SignupLink, User
from accounts.retention import prune
from invitations.models import Invitation
from passwords.models import PasswordChange
from tests.conftest import mailed

TEMPLATES = sorted(Path("templates/emails").iterdir())
LANGUAGES = ["de", "sv"]
CALL = re.compile(r"(?:\b_|gettext)\((u?(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"))")
PLURAL = re.compile(r"ngettext\((u?'(?:\\.|[^'\\])*'), (u?'(?:\\.|[^'\\])*')")


def catalog(language: str, kind: str) -> Path:
    return settings.BASE_DIR / "locale" / language / "LC_MESSAGES" / f"django.{kind}"


def messages() -> set[str]:
    """Each msgid of the mails' templates, a plural's singular form."""
    found = set()
    for path in TEMPLATES:
        code = templatize(path.read_text(encoding="utf-8"))
        found |= {ast.literal_eval(text) for text in CALL.findall(code)}
        found |= {ast.literal_eval(one) for one, _ in PLURAL.findall(code)}
    return found


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)s", text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_untranslated_or_superfluous(language):
    entries = polib.pofile(str(catalog(language, "po")))

    assert {entry.msgid for entry in entries} == messages()
    assert entries.percent_translated() == 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_name_what_the_originals_name(language):
    for entry in polib.pofile(str(catalog(language, "po"))):
        for text in entry.msgstr_plural.values() or [entry.msgstr]:
            assert placeholders(text) == placeholders(entry.msgid)


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_catalog_is_of_its_source(language):
    source, compiled = polib.pofile(str(catalog(language, "po"))), catalog(language, "mo")

    assert source.to_binary() == compiled.read_bytes()


@pytest.mark.parametrize(
    ("language", "subject", "life"),
    [
        ("en", "Change your password", "The link works once, for 60 minutes."),
        ("de", "Passwort ändern", "Der Link funktioniert einmal und gilt 60 Minuten."),
        ("sv", "Byt ditt lösenord", "Länken fungerar en gång och gäller i 60 minuter."),
    ],
)
def test_password_change_speaks_the_users_language(bob, language, subject, life):
    User.objects.filter(pk=bob.pk).update(language=language)
    OutgoingMail.objects.request(PasswordChange, bob.email, "en")

    message = mailed()

    assert message.subject == subject
    for body in (message.body, message.alternatives[0].content):
        assert life in body
        assert PasswordChange.objects.get().url in body
    assert f'<html lang="{language}">' in message.alternatives[0].content


@pytest.mark.parametrize(
    ("language", "subject", "words"),
    [
        ("en", "Your invitation to Analytical Engines", "Ada Lovelace invites you to join"),
        ("de", "Ihre Einladung zu Analytical Engines", "Ada Lovelace lädt Sie ein, Analytical"),
        ("sv", "Din inbjudan till Analytical Engines", "Ada Lovelace bjuder in dig till"),
    ],
)
def test_invitation_speaks_the_inviters_language(ada, language, subject, words):
    ada.language = language
    invitation = Invitation.objects.invite(ada, "c@example.com")

    message = mailed()

    assert message.subject == subject
    for body in (message.body, message.alternatives[0].content):
        assert words in body
        assert re.search(r"\b7 (days|Tage|dagar)\.", body)
        assert invitation.url in body


def test_signup_speaks_the_requests_language(db):
    OutgoingMail.objects.request(SignupLink, "new@example.com", "sv")

    assert mailed().subject == "Slutför din registrering"
    assert "gäller i 24 timmar" in mailed().body


def test_names_are_escaped_in_html_alone(ada):
    Account.objects.update(name="<b>Tom & Jerry</b>")
    User.objects.update(first_name="<script>", last_name="O'Hara")
    Invitation.objects.invite(ada, "c@example.com")

    message = mailed()

    assert message.subject == "Your invitation to <b>Tom & Jerry</b>"
    assert "<script> O'Hara invites you to join <b>Tom & Jerry</b>." in message.body
    html = message.alternatives[0].content
    assert "&lt;script&gt; O&#x27;Hara" in html
    assert "&lt;b&gt;Tom &amp; Jerry&lt;/b&gt;" in html


@pytest.mark.parametrize("break_", ["\r\n", "\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u202e"])
def test_names_add_no_header_and_no_line(ada, break_):
    Account.objects.update(name=f"Engines{break_}Bcc: eve@example.org")
    User.objects.update(first_name=f"Ada{break_}{break_}Click here")
    Invitation.objects.invite(ada, "c@example.com")

    message = mailed()

    assert message.subject == "Your invitation to Engines Bcc: eve@example.org"
    assert "Bcc" not in message.message()
    assert "Ada Click here Lovelace invites you to join Engines Bcc: eve@" in message.body


def test_long_company_name_survives_the_subject(ada):
    Account.objects.update(name="Å" * 200)
    Invitation.objects.invite(ada, "c@example.com")

    subject = mailed().message()["Subject"]

    assert str(make_header(decode_header(subject))) == "Your invitation to " + "Å" * 200


def test_inviter_without_a_name_or_gone(ada):
    User.objects.update(first_name="", last_name="")
    Invitation.objects.invite(ada, "c@example.com")
    assert "ada@example.com invites you to join" in mailed().body

    invitation = Invitation.objects.invite(ada, "d@example.com")
    Invitation.objects.filter(pk=invitation.pk).update(invited_by=None)
    assert "you are invited to join Analytical Engines." in mailed().body


def test_late_mail_promises_no_more_than_is_left(ada, time_machine):
    Invitation.objects.invite(ada, "c@example.com")
    time_machine.move_to(timezone.now() + timedelta(hours=2))

    assert "for 6 days." in mailed().body


def test_dead_links_and_old_mails_are_pruned(ada, bob, time_machine):
    for kind, email in [(PasswordChange, bob.email), (SignupLink, "new@example.com")]:
        OutgoingMail.objects.request(kind, email, "en")
    invitation = Invitation.objects.invite(ada, "c@example.com")
    Worker().round()
    assert len(mail.outbox) == 3

    time_machine.move_to(invitation.expires_at + timedelta(days=29))
    kept = Invitation.objects.invite(ada, "d@example.com")
    Worker(hourly=prune).do_hourly()
    assert [PasswordChange.objects.count(), SignupLink.objects.count()] == [0, 0]
    assert Invitation.objects.count() == 2

    time_machine.move_to(invitation.expires_at + timedelta(days=30))
    Worker(hourly=prune).do_hourly()
    assert list(Invitation.objects.all()) == [kept]
    assert OutgoingMail.objects.count() == 1


def test_pruning_takes_batch_after_batch(db):
    then = timezone.now() - timedelta(days=31)
    SignupLink.objects.bulk_create(
        SignupLink(email="a@example.com", created_at=then, expires_at=None) for _ in range(1001)
    )
    SignupLink.objects.create(email="b@example.com")

    assert SignupLink.objects.prune() == 1001
    assert SignupLink.objects.get().email == "b@example.com"
