"""Addresses in domains with umlauts: people read their letters, unless those could deceive."""

import re

import pytest

from accounts.models import User
from base.emails import readable_domain
from invitations.models import Invitation
from tests.assistants.conftest import Person, authorization_query
from tests.assistants.conftest import client as oauth_client  # noqa: F401
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.mailbox import mailed

pytestmark = pytest.mark.django_db
ENCODED, READABLE = "karin@xn--mller-kva.example", "karin@müller.example"
DECEPTIVE = "karin@xn--80ak6aa92e.com"  # Cyrillic letters that look like "apple"
BACK_OFFICE = "/admin/accounts/user/"


@pytest.fixture
def karin(ada):
    User.objects.filter(pk=ada.pk).update(email=ENCODED)
    ada.refresh_from_db()
    return ada


@pytest.mark.parametrize(
    ("domain", "readable"),
    [
        ("xn--mller-kva.example", "müller.example"),
        ("mail.xn--re-kka.dk", "mail.øre.dk"),
        ("xn--e1afmkfd.xn--p1ai", "пример.рф"),
        ("xn--hxakic4aa.xn--qxam", "ελλάδα.ελ"),
        ("xn--wgv71a.jp", "日本.jp"),
        ("xn--3e0b707e.kr", "한국.kr"),
        ("plain.example", "plain.example"),
    ],
)
def test_domain_is_read_in_its_own_letters(domain, readable):
    assert readable_domain(domain) == readable


@pytest.mark.parametrize(
    "domain",
    [
        "xn--80ak6aa92e.com",  # Cyrillic below a Latin domain
        "xn--mil-6cd.de",  # a Cyrillic a in a Latin word
        "xn--bcher-kva.xn--e1afmkfd",  # Latin below a Cyrillic domain
        "xn--a-fka.com",  # a dotless i
        "xn--oogle-qmc.com",  # a phonetic g
        "xn--zzzzzzzzzzz99999.com",  # encodes nothing
        "xn--.com",
    ],
)
def test_domain_that_could_deceive_stays_encoded(domain):
    assert readable_domain(domain) == domain


def test_mails_show_the_domain_and_go_to_its_encoded_form(karin):
    Invitation.objects.invite(karin, "bob@xn--bcher-kva.example")
    mail = mailed()

    assert mail.to == ["bob@xn--bcher-kva.example"]
    bearer(karin).post("/auth/email-changes", {"email": "k@example.com", "password": PASSWORD})
    mail = mailed()
    for text in (mail.body, mail.alternatives[0].content):
        assert "müller.example" in text
        assert "xn--" not in text


def test_mails_keep_a_domain_that_could_deceive(ada):
    User.objects.filter(pk=ada.pk).update(email=DECEPTIVE)
    ada.refresh_from_db()
    bearer(ada).post("/auth/email-changes", {"email": "k@example.com", "password": PASSWORD})

    assert DECEPTIVE in mailed().body


def test_authenticators_label_the_account_readably(karin):
    client, proof = bearer(karin), {"password": PASSWORD}

    uri = client.post("/auth/factors/totp", proof).json()["uri"]
    options = client.post("/auth/factors/passkeys/options", proof).json()["publicKey"]

    assert "karin%40m%C3%BCller.example" in uri
    assert options["user"]["name"] == READABLE


def test_consent_page_shows_the_domain(karin, oauth_client):  # noqa: F811
    person = Person(authorization_query(oauth_client))

    page = person.sign_in(READABLE).content.decode()

    assert f"<dd>{READABLE}</dd>" in page


def test_back_office_shows_the_domain_and_its_links_keep_the_address(operator, karin):
    page = operator.get(BACK_OFFICE, {"q": READABLE}).content.decode()
    assert READABLE in page
    assert f">{ENCODED}<" not in page

    page = operator.get(f"{BACK_OFFICE}{karin.pk}/change/").content.decode()

    assert READABLE in re.sub("<[^>]*>", "", page)
    assert "?q=karin%40xn--mller-kva.example" in page


@pytest.mark.parametrize("path", ["/auth/signup", "/auth/login", "/invitations"])
def test_local_part_with_an_umlaut_is_refused_with_the_reason(ada, path):
    body = {"email": "jürgen@müller.example", "password": PASSWORD}

    answer = bearer(ada).post(path, body)

    reason = "Before the @, use only letters a to z without accents, digits and signs."
    assert answer.status_code == 400
    assert answer.json()["fields"] == {"email": [reason]}
    assert answer.json()["codes"] == {"email": ["address"]}
