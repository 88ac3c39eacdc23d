"""POST /password-changes/redeem: a new password, which ends all sessions."""

import datetime
from functools import partial

import pytest
from django.utils import timezone

from accounts.models import User
from invitations.models import Invitation
from mail.errors import InvalidLink
from passwords.models import PasswordChange
from signin.models import SignupLink
from tests.clients import API, bearer
from tests.passwords.conftest import NEW, new_token, redeem
from tests.races import race
from tests.signin.factors.helpers import log_in
from tests.signin.helpers import assert_signed_in
from tests.throttling.helpers import fail
from throttling.models import Lockout

pytestmark = pytest.mark.django_db
DEAD = {"error": "invalid or expired token"}


def test_new_password_signs_in_and_sets_the_cookie(api, bob, token):
    response = redeem(api, token)

    assert_signed_in(api, response)
    assert response.json()["user"]["id"] == str(bob.pk)


def test_new_password_replaces_the_old_one_and_ends_every_earlier_session(api, bob, token):
    as_bob, tab = bearer(bob), API()
    log_in(tab, bob)

    redeem(api, token)

    assert as_bob.get("/auth/me").status_code == 401
    assert tab.post("/auth/refresh").status_code == 401
    assert (log_in(api, bob)[0], log_in(api, bob, NEW)[0]) == (401, 200)


def test_password_link_expires_an_hour_after_its_mail(api, bob, token, time_machine):
    time_left = PasswordChange.objects.get().expires_at - timezone.now()
    assert datetime.timedelta(seconds=3590) < time_left <= datetime.timedelta(seconds=3600)
    time_machine.move_to(timezone.now() + datetime.timedelta(seconds=3601))

    assert redeem(api, token).json() == DEAD


@pytest.mark.parametrize(
    "change", [{"is_active": False}, {"email": "new@example.com"}], ids=["inactive", "moved"]
)
def test_password_link_works_only_for_an_active_user_with_that_address(api, bob, token, change):
    User.objects.filter(pk=bob.pk).update(**change)

    assert redeem(api, token).json() == DEAD
    assert User.objects.get(pk=bob.pk).password == bob.password


def test_user_deactivated_meanwhile_keeps_the_password(bob, token):
    link = PasswordChange.objects.find_by_token(token)
    User.objects.update(is_active=False)

    with pytest.raises(InvalidLink):
        link.redeem(bob)


@pytest.mark.parametrize("kind", [SignupLink, Invitation])
def test_link_of_another_kind_is_refused(api, ada, bob, token, kind):
    pk = PasswordChange.objects.get().pk
    fields = {"account": ada.account} if kind is Invitation else {}

    assert redeem(api, kind.objects.create(pk=pk, email=bob.email, **fields).token).json() == DEAD


@pytest.mark.parametrize("password", ["short77", "x" * 257, None, 12345678, "a\x00bcdefgh"])
def test_refused_password_does_not_use_the_link_up(api, token, password):
    response = redeem(api, token, password)

    assert response.status_code == 400
    assert list(response.json()["fields"]) == ["password"]
    assert redeem(api, token).status_code == 200


def test_dead_password_link_is_answered_as_such_during_a_lock(api, bob, token):
    PasswordChange.objects.update(used_at=timezone.now())
    fail(5, bob.email)

    assert redeem(api, token).status_code == 400


def test_lock_set_during_the_redemption_undoes_it(api, bob, token, monkeypatch):
    lock = partial(fail, 5, bob.email)
    monkeypatch.setattr("signin.credentials.validate_password", lambda *_: lock())

    assert redeem(api, token).status_code == 429
    assert User.objects.get(pk=bob.pk).password == bob.password
    assert PasswordChange.objects.get().used_at is None


def test_new_password_forgets_the_failed_attempts(api, bob, token):
    fail(4, bob.email)

    redeem(api, token)

    assert not Lockout.objects.exists()


def test_user_without_a_password_sets_one_by_link(api, new_user):
    user = new_user(password="!")

    assert redeem(api, new_token(user)).status_code == 200
    assert log_in(api, user, NEW)[0] == 200


@pytest.mark.django_db(transaction=True)
def test_ten_redemptions_at_once_set_one_password(api, bob, token):
    calls = [partial(redeem, API(), token, f"password number {n}") for n in range(10)]

    answers = race(*calls)

    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [200] + [400] * 9
    assert log_in(api, bob, f"password number {statuses.index(200)}")[0] == 200
    assert User.objects.get(pk=bob.pk).token_version > 1
