"""The search of the back office: who calls is found, by whoever may look."""

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from signin.models import SignupLink
from tests.backoffice.helpers import staff_with
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

EMAIL = "zoe@example.com"
VIEWS = {  # what a match of each kind says, and the permission that shows it
    "view_user": "Zoe Zwei · Zeta, member",
    "view_account": "Zoe@Example.com & Co",
    "view_invitation": "pending, to Inviters",
    "view_signuplink": "expired",
    "view_outgoingmail": "sign-up link, refused for good: SMTPRecipientsRefused 550",
    "view_lockout": "not locked, failed attempts: 1",
}


@pytest.fixture
def zoe(new_user):
    """Known by her address to every model that is searched."""
    zeta = Account.objects.create(name="Zeta")
    Account.objects.create(name="Zoe@Example.com & Co")
    inviter = new_user(account=Account.objects.create(name="Inviters"), role="admin")
    Invitation.objects.invite(inviter, EMAIL)
    SignupLink.objects.create(email=EMAIL, expires_at=timezone.now())
    OutgoingMail.objects.all().delete()
    problem = {"state": MailState.REFUSED, "problem": "SMTPRecipientsRefused 550"}
    OutgoingMail.objects.create(kind="signin.signuplink", email=EMAIL, **problem)
    Lockout.objects.record_failure(EMAIL)
    return new_user(EMAIL, first_name="Zoe", last_name="Zwei", account=zeta)


def found(browser, q):
    """What the index shows between the search and the panels."""
    shown = browser.get("/admin/", {"q": q}).content.decode()
    return shown.partition('<div class="panel found">')[2].partition('<div class="panel')[0]


@pytest.mark.parametrize("q", [EMAIL, "ZOE@Example.Com", " zoe@example.com "])
def test_address_is_found_in_every_kind(operator, zoe, q):
    shown = found(operator, q)

    for words in VIEWS.values():
        assert words.replace("&", "&amp;") in shown, words


@pytest.mark.parametrize("codename", [None, *VIEWS])
def test_each_kind_is_for_those_who_may_look_at_it(zoe, bob, codename):
    shown = found(staff_with(bob, codename), EMAIL)

    said = {name for name, words in VIEWS.items() if words.replace("&", "&amp;") in shown}
    assert said == {codename} - {None}
    assert shown.count("<section>") == len(said)
    assert ("Nothing found" in shown) == (codename is None)


def test_exact_address_stands_alone_and_the_list_finds_all(operator, ada, new_user):
    for number in range(12):
        new_user(f"{number}.bob@example.com", last_name="Aaa", account=ada.account)
    new_user("bob@example.com", last_name="Zzz", account=ada.account)
    exact, part = found(operator, "BOB@example.com"), found(operator, "bob@example.co")

    assert exact.count("bob@example.com</a>") == 1
    assert part.count("bob@example.com</a>") == 10
    assert 'href="/admin/accounts/user/?q=bob%40example.com">Show all' in exact
    assert "13 users" in operator.get("/admin/accounts/user/?q=bob%40example.com").content.decode()


def test_names_are_found(operator, zoe, ada):
    assert EMAIL in found(operator, "zwei zoe")
    assert EMAIL not in found(operator, "zwei ada")
    assert "/admin/accounts/account/" in found(operator, "zeta")


@pytest.mark.parametrize("words", ["a" * 5000, "w " * 1900, "%00", "'\"<script>", "\\"])
def test_search_text_is_shortened(operator, zoe, words):
    shown = operator.get("/admin/", {"q": words})

    assert shown.status_code == 200
    sought = shown.context.get("q", "")
    assert len(sought) <= 100
    assert len(sought.split()) <= 10
    assert "<script>'" not in shown.content.decode()


# One for each of six kinds, and two for who asks; five more for an address that none knows.
@pytest.mark.parametrize(("q", "number"), [(EMAIL, 8), ("nobody", 8), ("nobody@example.com", 13)])
def test_queries_are_few(operator, zoe, new_user, q, number, django_assert_num_queries):
    for _ in range(11):
        new_user(account=zoe.account)
    with django_assert_num_queries(number):
        operator.get("/admin/", {"q": q})


def test_list_says_over_ten_thousand(operator):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO throttling_lockout (email, device, failures, failed_at, met, refusals)"
            " SELECT n || '@many.example', '', 1, now(), false, 0 FROM generate_series(1, 10001) n"
        )
        cursor.execute(
            "INSERT INTO mail_outgoingmail (id, kind, email, language, state, created_at, due_at,"
            " attempts, problem, origin) SELECT gen_random_uuid(), 'signin.signuplink',"
            " 'many@example.com', 'en', 'sent', now(), now(), 1, '', '{}'"
            " FROM generate_series(1, 10001)"
        )

    assert "over 10,000 outgoing mail" in operator.get("/admin/mail/outgoingmail/").content.decode()
    assert "over 10,000 found" in operator.get("/admin/mail/outgoingmail/?q=many").content.decode()
