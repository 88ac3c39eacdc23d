"""The mails for links: each language whole, names escaped, no header tricks."""

import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from django.core import mail
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.models import Account, Role, User
from audit.actors import COMMAND
from base.text import harmless_name
from invitations.models import Invitation
from mail.message import render_layout
from mail.notices import Notice
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.models import SignupLink
from tests.cast import PASSWORD
from tests.mailbox import links_in, mailed, visible
from worker.rounds import Worker


@pytest.mark.parametrize(
    ("language", "subject", "life"),
    [
        ("de", "Passwort zurücksetzen", "Der Link ist 60 Minuten gültig"),
        ("sv", "Återställ ditt lösenord", "Länken gäller i 60 minuter"),
    ],
)
def test_password_change_speaks_the_users_language(bob, language, subject, life):
    User.objects.filter(pk=bob.pk).update(language=language)
    OutgoingMail.objects.request_mail(PasswordChange, bob.email, "en")

    message = mailed()

    assert message.subject == subject
    for body in (message.body, message.alternatives[0].content):
        assert life in body
        assert PasswordChange.objects.get().url in body
    assert f'<html lang="{language}">' in message.alternatives[0].content


@pytest.mark.parametrize(
    ("language", "subject", "invited", "life"),
    [
        ("de", "Einladung zu Analytical Engines", "„Ada Lovelace“ hat Sie ein", r"\b7 Tage gültig"),
        ("sv", "Inbjudan till Analytical Engines", "”Ada Lovelace” har bjudit", "gäller i 7 dagar"),
    ],
)
def test_invitation_speaks_the_inviters_language(ada, language, subject, invited, life):
    ada.language = language
    invitation = Invitation.objects.invite(ada, "c@example.com")

    message = mailed()
    invitation.refresh_from_db()  # the worker chooses the generation of the token

    assert message.subject == subject
    for body in (message.body, message.alternatives[0].content):
        assert invited in body
        assert re.search(life, body)
        assert invitation.url in body


def test_signup_speaks_the_requests_language(db):
    OutgoingMail.objects.request_mail(SignupLink, "new@example.com", "sv")

    assert mailed().subject == "Slutför registreringen"
    assert "gäller i 24 timmar" in mailed().body


def test_names_are_escaped_in_html_alone(ada):
    Account.objects.update(name="<b>Tom & Jerry</b>")
    User.objects.update(first_name="<script>", last_name="O'Hara")
    Invitation.objects.invite(ada, "c@example.com")

    message = mailed()

    assert visible("“<script> O'Hara” has invited you to join “<b>Tom & Jerry</b>”.") in visible(
        message.body
    )
    html = visible(message.alternatives[0].content)
    assert "&lt;script&gt; O&#x27;Hara" in html
    assert "&lt;b&gt;Tom &amp; Jerry&lt;/b&gt;" in html


@pytest.mark.parametrize("break_", ["\r\n", "\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u202e"])
def test_names_add_no_header_and_no_line(ada, break_):
    Account.objects.update(name=f"Engines{break_}Bcc: eve@example.org")
    User.objects.update(first_name=f"Ada{break_}{break_}Click here")
    Invitation.objects.invite(ada, "c@example.com")

    message = mailed()

    assert visible(message.subject) == "You're invited to join Engines Bcc: eve@example.org"
    assert "Bcc" not in message.message()
    assert "\n" not in message.subject
    assert "“Ada Click here Lovelace” has invited you to join “Engines Bcc: eve@" in visible(
        message.body
    )


@pytest.mark.parametrize("name", [
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",  # Alireza in Persian
    "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sri in Sinhala
])  # fmt: skip
def test_names_keep_the_joiners_of_their_scripts(ada, name):
    User.objects.update(first_name=name)
    Account.objects.update(name="Pay\u200cPal")
    Invitation.objects.invite(ada, "c@example.com")

    assert f"“{name} Lovelace” has invited you to join “Pay Pal”." in visible(mailed().body)


def test_names_are_cut_and_cannot_close_their_quotation_marks(ada):
    Account.objects.update(name="Å" * 200)
    User.objects.update(first_name="Ada” asks for your password: “", last_name="")
    Invitation.objects.invite(ada, "c@example.com")

    body = visible(mailed().body)

    assert "“Ada' asks for your password: '” has invited" in body
    assert "join “" + "Å" * 59 + "…”." in body


@pytest.mark.parametrize(
    "name",
    ["evil.test", "EVIL.COM", "a@evil.com", "evil.com/x?y=z", "http://evil.com", "www.evil.com",
     "//evil.com", "mailto:a@evil.com", "evil.com:8080", "192.0.2.1", "bücher.de", "evil。com",
     "evil\uff0ecom", "tel:+4670123456", "+46 70 123 45 67", "evil.co.uk", "\u2060e.com"],
)  # fmt: skip
def test_names_become_no_links_in_a_mail_client(ada, name):
    Account.objects.update(name=name)
    User.objects.update(first_name=name, last_name="")
    invitation = Invitation.objects.invite(ada, "c@example.com")

    message = mailed()
    invitation.refresh_from_db()  # the worker chooses the generation of the token

    html = unescape(strip_tags(message.alternatives[0].content))
    for text in (message.body, html):
        assert visible(name) in visible(text)
        assert links_in(text) == [invitation.url]
        assert not re.search(r"\d{2,}", text.replace(invitation.url, ""))


def test_inbox_shows_what_the_mail_is_about_and_the_mail_what_a_lock_means(bob):
    OutgoingMail.objects.request_mail(PasswordChange, bob.email, "en")

    message = mailed()

    html = message.alternatives[0].content
    assert "wait 15 minutes and open" in message.body
    assert "wait 15 minutes and open" in html
    shown = re.search(r"mso-hide:all\">([^&<]*)", html)[1]
    assert shown.startswith("We received a request to reset your password."), shown


def test_mail_leads_to_what_operators_have_to_say(bob, settings):
    settings.LINKS = {"terms": "https://www.example.com/t?a=1&b=2", "imprint": "https://x.test/i"}
    OutgoingMail.objects.request_mail(PasswordChange, bob.email, "en")

    message = mailed()

    links = "Terms: https://www.example.com/t?a=1&b=2\nLegal notice: https://x.test/i"
    assert links in message.body
    assert 'href="https://www.example.com/t?a=1&amp;b=2"' in message.alternatives[0].content
    assert "Privacy" not in message.body + message.alternatives[0].content


def test_inviter_without_a_name_or_gone(ada):
    User.objects.update(first_name="", last_name="")
    Invitation.objects.invite(ada, "c@example.com")
    assert "“ada@example.com” has invited you to join" in visible(mailed().body)

    invitation = Invitation.objects.invite(ada, "d@example.com")
    Invitation.objects.filter(pk=invitation.pk).update(invited_by=None)
    assert "You've been invited to join “Analytical Engines”." in mailed().body


def test_late_mail_names_the_remaining_time(ada, time_machine):
    Invitation.objects.invite(ada, "c@example.com")
    time_machine.move_to(timezone.now() + timedelta(hours=2))

    assert "in 6 days." in mailed().body


def test_dead_links_and_old_mails_are_pruned(ada, bob, time_machine):
    for kind, email in [(PasswordChange, bob.email), (SignupLink, "new@example.com")]:
        OutgoingMail.objects.request_mail(kind, email, "en")
    invitation = Invitation.objects.invite(ada, "c@example.com")
    Worker().work_round()
    assert len(mail.outbox) == 3

    time_machine.move_to(invitation.expires_at + timedelta(days=29))
    kept = Invitation.objects.invite(ada, "d@example.com")
    Worker().run_jobs()
    assert [PasswordChange.objects.count(), SignupLink.objects.count()] == [0, 0]
    assert Invitation.objects.count() == 2

    time_machine.move_to(invitation.expires_at + timedelta(days=30))
    Worker().run_jobs()
    assert list(Invitation.objects.all()) == [kept]
    assert OutgoingMail.objects.count() == 1


def test_pruning_takes_batch_after_batch(db):
    then = timezone.now() - timedelta(days=31)
    SignupLink.objects.bulk_create(
        SignupLink(email="a@example.com", created_at=then, expires_at=None) for _ in range(1001)
    )
    SignupLink.objects.create(email="b@example.com")

    assert SignupLink.objects.prune_expired() == 1001
    assert SignupLink.objects.get().email == "b@example.com"


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in Path("templates/emails").glob("*.txt"))
)
def test_address_copied_from_a_mail_signs_in(api, ada, name):
    """Also an address that stands in for a name, which has invisible characters in it."""
    shown = harmless_name("ada@example.com")
    origin = {"when": timezone.now(), "address": "", "browser": "", "system": ""}
    context = dict.fromkeys(["old", "new", "by", "company"], shown) | {"emails": [shown]} | origin
    context |= dict.fromkeys(["days", "hours", "minutes", "lock", "left", "count"], 2)
    text = render_layout(Notice(name, "x@example.com", "en"), "mail.txt", context)
    copied = {word.strip(".“”") for word in text.split() if "@" in word}

    for email in copied or {shown}:
        body = {"email": email, "password": PASSWORD}
        assert api.post("/auth/login", body).status_code == 200


@pytest.mark.parametrize("role", [Role.MEMBER, Role.ADMIN])
def test_only_admin_is_not_told_to_ask_an_admin(ada, bob, role):
    User.objects.filter(pk=bob.pk).update(role=role)
    for kind in ("factor_added", "password_changed", "factors_reset", "reactivated"):
        ada.send_notice(kind)
        advice = mailed().body.partition("\n\n")[2]
        assert ("an admin of your company" in advice) == (role == Role.ADMIN), kind
    ada.change_address(COMMAND, "lovelace@example.com")
    assert ("an admin of your company" in mailed().body) == (role == Role.ADMIN)
