"""Rules that the database itself keeps, and the canonical form of addresses."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from accounts.models import Account, Consultant, User
from base.emails import canonical_email
from mail.outbox import OutgoingMail
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.mailbox import mailed

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" Ada@Example.COM ", "ada@example.com"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("o'hara+x@example.com", "o'hara+x@example.com"),
        ("\u200bada\u2060@\u2060example\u2060.\u2060com\u00ad", "ada@example.com"),  # from a mail
    ],
)
def test_address_is_stored_in_canonical_form(typed, stored):
    assert canonical_email(typed) == stored


@pytest.mark.parametrize(
    "typed", ["root@localhost", "a@[10.0.0.5]", "a%b@corp.test", "a!b@corp.test"]
)
def test_nothing_is_mailed_to_hosts_routes_and_address_literals(api, new_user, typed):
    admin, body = bearer(new_user(role="admin")), {"email": typed, "password": PASSWORD}
    answers = [api.post("/auth/signup", body)]
    answers += [admin.post(path, body) for path in ("/invitations", "/auth/email-changes")]

    assert [answer.status_code for answer in answers] == [400] * 3
    assert not OutgoingMail.objects.exists()


def test_user_with_an_unmailable_address_signs_in_and_gets_links(api, new_user):
    new_user("root@localhost")
    body = {"email": "root@localhost", "password": PASSWORD}

    assert api.post("/auth/login", body).status_code == 200
    assert api.post("/password-changes", body).status_code == 200
    assert mailed().to == ["root@localhost"]


def test_database_refuses_addresses_with_capitals(ada):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_user SET email = 'ADA@example.com'")


def test_bulk_writes_and_lookups_use_canonical_addresses(ada):
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.bulk_create([User(account=ada.account, email="ADA@example.com")])
    User.objects.bulk_create([User(account=ada.account, email="New@Example.com")])

    assert User.objects.get(email="NEW@example.COM").pk
    assert User.objects.filter(email="new@example.com").exists()


def test_deleting_a_user_keeps_the_consultant(ada):
    profile = Consultant.objects.create(account=ada.account, user=ada, manager=ada)
    ada.delete()

    profile.refresh_from_db()
    assert (profile.user, profile.manager) == (None, None)


def test_consultant_belongs_to_the_company_of_its_user(ada, eve):
    with pytest.raises(ValidationError, match="another company"):
        Consultant(account=ada.account, name="X", user=eve).full_clean()


def test_account_with_users_cannot_be_deleted(ada):
    with pytest.raises(IntegrityError):
        Account.objects.all().delete()
