"""The user of a token, found by plain SQL, is the one that the ORM finds."""

import os
import subprocess
import sys

import pytest

from accounts.models import Consultant, User
from tests.throttling.test_lockout import fail

pytestmark = pytest.mark.django_db

SHOWN = ["pk", "account_id", "email", "role", "created_at", "profile_id", "manages"]
ON_SQLITE = """
import django; django.setup()
from django.core.management import call_command
from accounts.models import Account, Consultant, User
from accounts.serializers import user_response
call_command("migrate", verbosity=0)
ada = User.objects.create_superuser("ada@example.com", "an operator's")
profile = Consultant.objects.create(account=ada.account, user=ada, manager=ada)
found = User.objects.find_by_token(str(ada.pk), ada.token_version, with_lock=True)
print(user_response(found) == user_response(User.objects.get()), bool(found.locked))
"""


@pytest.mark.parametrize("linked", [True, False])
def test_user_of_a_token_is_the_querysets(ada, linked):
    if linked:
        Consultant.objects.create(account=ada.account, user=ada, manager=ada)

    found = User.objects.find_by_token(str(ada.pk), ada.token_version)
    listed = User.objects.with_profile().get()
    alone = User.objects.get()

    expected = [getattr(listed, name) for name in SHOWN]
    assert [getattr(found, name) for name in SHOWN] == expected
    assert [getattr(alone, name) for name in SHOWN] == expected


def test_lock_of_the_address_comes_with_the_user_of_a_refresh_token(ada):
    fail(4, ada.email)
    before = User.objects.find_by_token(str(ada.pk), ada.token_version, with_lock=True)
    fail(1, ada.email)
    after = User.objects.find_by_token(str(ada.pk), ada.token_version, with_lock=True)

    assert vars(before)["locked"] is False
    assert vars(after)["locked"] is True


def test_sqlite_finds_the_same(tmp_path):
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3"}
    command = [sys.executable, "-c", ON_SQLITE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["True False"]


def test_nobody_is_none(ada):
    assert User.objects.find_by_token(str(ada.pk), 7) is None
