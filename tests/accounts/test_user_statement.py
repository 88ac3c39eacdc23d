"""The user whom a compiled statement finds by token or address is the one that a query finds."""

import pytest
from django.utils import timezone

from accounts.models import Account, Consultant, SecondFactor, User
from tests.services import run_python
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db

FIELDS = [field.attname for field in User._meta.concrete_fields] + ["consultant_id", "is_manager"]
ON_SQLITE = """
import django; django.setup()
from django.core.management import call_command
from accounts.models import Account, Consultant, User
from sso.models import Domain, IdentityProvider
from accounts.serializers import USER_SERIALIZER
from django.utils import timezone
call_command("migrate", verbosity=0)
ada = User.objects.create_superuser("ada@example.com", "an operator's")
Consultant.objects.create(account=ada.account, user=ada, manager=ada)
values = {"id": str(ada.pk), "token_version": ada.token_version, "now": timezone.now()}
by_token = User.objects.find_by_token_with_lock(**values)
by_email = User.objects.find_by_email(email="ada@example.com")
for user in (by_token, by_email):
    bodies = [USER_SERIALIZER.to_representation(row) for row in (user, ada)]
    print(user == ada, user.created_at == ada.created_at, bodies[0] == bodies[1])
print(bool(by_token.is_locked), by_email.company_requires_factor)
User.objects.update(is_staff=False, is_superuser=False)
Account.objects.update(is_operators=False)
IdentityProvider.objects.create(account=ada.account, tested_at=timezone.now(), active=True,
                                required=True)
for email in ("ada@elsewhere.org", "ada@example.com"):
    User.objects.update(email=email)
    Domain.objects.update_or_create(account=ada.account, name="example.com",
                                    defaults={"proved_at": timezone.now()})
    print(bool(vars(User.objects.find_by_email(email=email))["must_use_provider"]))
print(User.objects.find_by_email(email="bob@example.com"))
"""


def values_of(user):
    return [getattr(user, name) for name in FIELDS]


@pytest.mark.parametrize("required", SecondFactor.values)
@pytest.mark.parametrize("linked", [True, False])
def test_compiled_statement_finds_the_user_of_the_queryset(
    ada, linked, required, django_assert_num_queries
):
    Account.objects.filter(pk=ada.account_id).update(second_factor=required)
    if linked:
        Consultant.objects.create(account=ada.account, user=ada, manager=ada)
    by_token = User.objects.find_by_token(id=str(ada.pk), token_version=ada.token_version)
    by_email = User.objects.find_by_email(email=ada.email)
    annotated, plain = User.objects.with_profile().get(), User.objects.get()

    assert values_of(by_token) == values_of(by_email) == values_of(annotated) == values_of(plain)
    with django_assert_num_queries(0):
        assert by_email.company_requires_factor is (required == "required")
    assert plain.company_requires_factor is (required == "required")


def test_compiled_statement_tells_whether_the_address_is_locked(ada):
    values = {"id": str(ada.pk), "token_version": ada.token_version, "now": timezone.now()}
    for failures, is_locked in ((4, False), (1, True)):
        fail(failures, ada.email)

        assert User.objects.find_by_token_with_lock(**values).is_locked is is_locked


@pytest.mark.live
def test_compiled_statement_finds_users_on_sqlite(tmp_path):
    output = run_python(ON_SQLITE, DATABASE_URL=f"sqlite:///{tmp_path}/db.sqlite3")

    expected = ["True True True"] * 2 + ["False False", "False", "True", "None"]
    assert output.splitlines() == expected


def test_unknown_address_takes_the_work_of_a_registered_one(ada, monkeypatch):
    built, from_db = [], User.from_db
    monkeypatch.setattr(User, "from_db", lambda *args: built.append(args[1]) or from_db(*args))

    assert User.objects.find_by_email(email=ada.email) == ada
    assert User.objects.find_by_email(email="nobody@example.com") is None
    assert len(built) == 2
    assert built[0] == built[1]
