"""A user is erased while signing in, at each moment of the call."""

from functools import partial

import pytest
from django.conf import settings

from passwords.models import PasswordChange
from signin.models import UnlockLink
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.passwords.conftest import redeem
from tests.privacy.conftest import statuses_while_erased
from tests.signin.factors.helpers import code, with_app
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db(transaction=True)


def log_in(user):
    return lambda: API().post("/auth/login", {"email": user.email, "password": PASSWORD})


def log_in_with_code(user):
    with_app(user)
    body = {"email": user.email, "password": PASSWORD, "code": code()}
    return lambda: API().post("/auth/login", body)


def refresh(user):
    api = API()
    api.post("/auth/login", {"email": user.email, "password": PASSWORD})
    return lambda: api.post("/auth/refresh")


def set_password(user):
    link = PasswordChange.objects.create(user=user, email=user.email)
    return partial(redeem, API(), link.token)


def unlock(user):
    fail(settings.LOCKOUT_THRESHOLD, user.email)
    token = UnlockLink.objects.create(user=user, email=user.email).token
    return lambda: API().post("/lockouts/redeem", {"token": token})


def add_app(user):
    return partial(bearer(user).post, "/auth/factors/totp", {"password": PASSWORD})


WAYS = [log_in, log_in_with_code, refresh, set_password, unlock, add_app]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("device_lockout", [False, True])
def test_user_who_is_erased_while_signing_in(ada, new_user, monkeypatch, way, device_lockout):
    monkeypatch.setattr(settings, "DEVICE_LOCKOUT", device_lockout)
    new_member = partial(new_user, account=ada.account)

    statuses = statuses_while_erased(new_member, way)

    assert statuses[-1] < 300
    assert len(statuses) > 1
    assert max(statuses) < 500, statuses
