"""The search of the back office, by address and name, and the permissions that it needs."""

from unicodedata import normalize

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from signin.models import SignupLink
from tests.backoffice.helpers import staff_with, text
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

EMAIL = "zoe@example.com"
MATCHES = {  # by the permission to view a model: the text of its match
    "view_user": "Zoe Zwei · Zeta, member",
    "view_account": "Zoe@Example.com & Co",
    "view_invitation": "pending, to Inviters",
    "view_signuplink": "expired",
    "view_outgoingmail": "sign-up link, refused for good: SMTPRecipientsRefused 550",
    "view_lockout": "not locked, failed attempts: 1",
}


@pytest.fixture
def zoe(new_user):
    """A user whose address is in every model that is searched."""
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


def results(browser, q):
    """The part of the index with the results."""
    page = text(browser, "/admin/", q=q)
    return page.partition('<div class="panel found">')[2].partition('<div class="panel')[0]


@pytest.mark.parametrize("q", [EMAIL, "ZOE@Example.Com", " zoe@example.com "])
def test_address_is_found_in_every_model(operator, zoe, q):
    page = results(operator, q)

    for match in MATCHES.values():
        assert match.replace("&", "&amp;") in page, match


@pytest.mark.parametrize("codename", [None, *MATCHES])
def test_matches_need_the_permission_to_view_their_model(zoe, bob, codename):
    page = results(staff_with(bob, codename), EMAIL)

    codenames = {name for name, match in MATCHES.items() if match.replace("&", "&amp;") in page}
    assert codenames == {codename} - {None}
    assert page.count("<section>") == len(codenames)
    assert ("Nothing found" in page) == (codename is None)


def test_exact_match_hides_others_and_the_list_shows_all(operator, ada, new_user):
    for number in range(12):
        new_user(f"{number}.bob@example.com", last_name="Aaa", account=ada.account)
    new_user("bob@example.com", last_name="Zzz", account=ada.account)
    exact, partial = results(operator, "BOB@example.com"), results(operator, "bob@example.co")

    assert exact.count("bob@example.com</a>") == 1
    assert partial.count("bob@example.com</a>") == 10
    assert 'href="/admin/accounts/user/?q=bob%40example.com">Show all' in exact
    assert "13 users" in text(operator, "/admin/accounts/user/", q="bob@example.com")


def test_names_are_found(operator, zoe, ada):
    assert EMAIL in results(operator, "zwei zoe")
    assert EMAIL not in results(operator, "zwei ada")
    assert "/admin/accounts/account/" in results(operator, "zeta")


@pytest.mark.parametrize("name", ["Zeta Two, Three", "İzmir Ltd", "Łódź"])
def test_company_is_found_as_its_name_is_written(operator, new_user, name):
    member = new_user(account=Account.objects.create(name=name))
    Account.objects.create(name="Zeta Two")

    for q in (name, name.upper(), f"  {name} "):
        page = text(operator, "/admin/accounts/account/", q=q)
        assert f">{name}</a>" in page, q
        assert ">Zeta Two</a>" not in page, q
        assert member.email in text(operator, "/admin/accounts/user/", q=q), q
        assert member.email in results(operator, q), q


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_name_is_found_in_either_unicode_form(operator, new_user, form):
    zoe = new_user(last_name=normalize(form, "Müller"), first_name="Zoe")

    for q in ("Müller", normalize("NFD", "Müller"), "zoe müller"):
        assert zoe.email in text(operator, "/admin/accounts/user/", q=q), q


@pytest.mark.parametrize("q", ["a" * 5000, "w " * 1900, "%00", "'\"<script>", "\\"])
def test_search_text_is_shortened(operator, zoe, q):
    page = operator.get("/admin/", {"q": q})

    assert page.status_code == 200
    query = page.context.get("q", "")
    assert len(query) <= 100
    assert "<script>'" not in page.content.decode()


# One query for each of six models, and two for the caller; five more for an unknown address.
@pytest.mark.parametrize(("q", "number"), [(EMAIL, 8), ("nobody", 8), ("nobody@example.com", 13)])
def test_search_takes_few_queries(operator, zoe, new_user, q, number, django_assert_num_queries):
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

    assert "over 10,000 outgoing mail" in text(operator, "/admin/mail/outgoingmail/")
    assert "over 10,000 found" in text(operator, "/admin/mail/outgoingmail/", q="many")
