"""A prepared query finds what its queryset finds."""

import pytest

from accounts import tokens
from accounts.models import Consultant, User

pytestmark = pytest.mark.django_db

SHOWN = ["pk", "account_id", "email", "role", "created_at", "profile_id", "manages"]


@pytest.mark.parametrize("linked", [True, False])
def test_user_of_a_token_is_the_querysets(ada: User, linked: bool) -> None:
    if linked:
        Consultant.objects.create(account=ada.account, user=ada, manager=ada)
    token = tokens.issue(ada)[0].payload

    found = User.objects.for_access_token(token)
    expected = User.objects.with_profile().of_token(token).get()

    assert [getattr(found, name) for name in SHOWN] == [getattr(expected, name) for name in SHOWN]


def test_user_of_an_address_has_a_password_to_check(ada: User) -> None:
    found = User.objects.by_email("ada@example.com")

    assert found == ada
    assert found.password == ada.password


def test_nobody_is_none(ada: User) -> None:
    stale = tokens.issue(ada)[0].payload | {"token_version": 7}

    assert User.objects.by_email("nobody@example.com") is None
    assert User.objects.for_access_token(stale) is None
