"""The user of an address, found by plain SQL, is the one that the ORM finds."""

import os
import subprocess
import sys

import pytest

from accounts.models import Account, Consultant, SecondFactor, User

pytestmark = pytest.mark.django_db

ON_SQLITE = """
import django; django.setup()
from django.core.management import call_command
from accounts.models import User
call_command("migrate", verbosity=0)
ada = User.objects.create_superuser("ada@example.com", "an operator's")
found = User.objects.find_by_email("ada@example.com")
print(found == ada, found.created_at == ada.created_at, bool(vars(found)["factor_required"]))
print(User.objects.find_by_email("bob@example.com"))
"""


def columns(model):
    return [field.attname for field in model._meta.concrete_fields]


def values(row, names):
    return tuple(getattr(row, name) for name in names)


@pytest.mark.parametrize("required", SecondFactor.values)
@pytest.mark.parametrize("linked", [True, False])
def test_user_of_an_address_is_the_querysets(ada, linked, required):
    Account.objects.filter(pk=ada.account_id).update(second_factor=required)
    if linked:
        Consultant.objects.create(account=ada.account, user=ada, manager=ada)

    found = User.objects.find_by_email(ada.email)
    listed = User.objects.with_profile().get()

    shown = [*columns(User), "profile_id", "manages", "factor_required"]
    assert values(found, shown) == values(listed, shown)


def test_nobody_is_none(ada):
    assert User.objects.find_by_email("nobody@example.com") is None


def test_sqlite_finds_the_same(tmp_path):
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3"}
    command = [sys.executable, "-c", ON_SQLITE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["True True False", "None"]
