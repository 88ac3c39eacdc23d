"""The user of a token, found by plain SQL, is the one that the ORM finds."""

import os
import subprocess
import sys

import pytest

from accounts import tokens
from accounts.models import Consultant, User
from tests.throttling.test_lockout import fail

pytestmark = pytest.mark.django_db

SHOWN = ["pk", "account_id", "email", "role", "created_at", "profile_id", "manages"]
ON_SQLITE = """
import django; django.setup()
from django.core.management import call_command
from accounts import tokens
from accounts.models import Account, Consultant, User
from accounts.serializers import user_response
from datetime import timedelta
from django.utils import timezone
from throttling.models import Lockout

HOUR = timedelta(hours=1)
call_command("migrate", verbosity=0)
ada = User.objects.create_superuser("ada@example.com", "an operator's")
profile = Consultant.objects.create(account=ada.account, user=ada, manager=ada)
found = User.objects.for_refresh_token(tokens.issue(ada)[1].payload)
print(user_response(found) == user_response(User.objects.get()), found.locked)
print(User.objects.for_log_in("ada@example.com") == (ada, False))
now = timezone.now()
Lockout.objects.create(
    email="ada@example.com", failures=5, failed_at=now, locked_until=now + HOUR
)
print(User.objects.for_log_in("ada@example.com"), User.objects.for_log_in("x@example.com"))
"""


@pytest.mark.parametrize("linked", [True, False])
def test_user_of_a_token_is_the_querysets(ada: User, linked: bool) -> None:
    if linked:
        Consultant.objects.create(account=ada.account, user=ada, manager=ada)
    token = tokens.issue(ada)[0].payload

    found = User.objects.for_access_token(token)
    listed = User.objects.with_profile().get()
    alone = User.objects.get()

    expected = [getattr(listed, name) for name in SHOWN]
    assert [getattr(found, name) for name in SHOWN] == expected
    assert [getattr(alone, name) for name in SHOWN] == expected


def test_lock_of_the_address_comes_with_the_user_of_a_refresh_token(ada: User) -> None:
    token = tokens.issue(ada)[1].payload
    fail(4, ada.email)
    before = User.objects.for_refresh_token(token)
    fail(1, ada.email)
    after = User.objects.for_refresh_token(token)

    assert vars(before)["locked"] is False
    assert vars(after)["locked"] is True


def test_sqlite_finds_the_same(tmp_path):
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3"}
    command = [sys.executable, "-c", ON_SQLITE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["True False", "True", "(None, True) (None, False)"]


def test_user_of_an_address_has_a_password_to_check(ada: User) -> None:
    found = User.objects.by_email("ada@example.com")

    assert found == ada
    assert found.password == ada.password


@pytest.mark.parametrize("linked", [True, False])
def test_user_who_logs_in_is_the_querysets(ada: User, linked: bool) -> None:
    if linked:
        Consultant.objects.create(account=ada.account, user=ada, manager=ada)

    found, locked = User.objects.for_log_in(ada.email)
    listed = User.objects.with_profile().get()

    assert [getattr(found, name) for name in SHOWN] == [getattr(listed, name) for name in SHOWN]
    assert (found.password, locked) == (ada.password, False)


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_locked_address_has_nobody_to_log_in(ada: User, email: str) -> None:
    fail(4, email)
    open_still = User.objects.for_log_in(email)
    fail(1, email)

    assert open_still == (ada if email == ada.email else None, False)
    assert User.objects.for_log_in(email) == (None, True)


def test_nobody_is_none(ada: User) -> None:
    stale = tokens.issue(ada)[0].payload | {"token_version": 7}

    assert User.objects.by_email("nobody@example.com") is None
    assert User.objects.for_access_token(stale) is None
