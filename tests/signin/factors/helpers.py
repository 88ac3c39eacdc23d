"""Helpers for tests of second factors: what users with factors have and send."""

import base64

import jwt
from django.utils import timezone

from accounts.models import User
from signin.factors import totp
from signin.factors.models import Factors
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.signin.factors.authenticator import Authenticator

SECRET = bytes(range(20))
NOW = 1_800_000_015  # in the middle of a step
PASSWORD_FIELD = {"password": PASSWORD}


def code(steps=0, secret=SECRET):
    """The code that the app shows so many steps from now."""
    now = int(timezone.now().timestamp()) // 30 + steps
    return totp.code_generator(secret).generate(now * 30).decode()


def wrong_code():
    """Six digits that are not a code of a recent or coming step."""
    valid_codes = {code(n) for n in range(-20, 3)}
    return next(f"{n:06}" for n in range(10) if f"{n:06}" not in valid_codes)


def with_app(user):
    """Give the user an app with SECRET; returns the recovery codes."""
    factors = Factors.objects.create(user=user)
    User.objects.filter(pk=user.pk).update(has_second_factor=True)
    factors.add_totp(SECRET, 0, "")
    return factors.renew_codes()


def begin_app(api, reauthentication=PASSWORD_FIELD):
    """An app's secret, and the body of the call that confirms it."""
    setup = api.post("/auth/factors/totp", reauthentication).json()
    secret = base64.b32decode(setup["secret"])
    return secret, {"id": setup["id"], "code": code(0, secret)}


def begin_passkey(api, reauthentication=PASSWORD_FIELD, key=None):
    """The body of the call that adds a passkey."""
    options = api.post("/auth/factors/passkeys/options", reauthentication).json()
    return {"credential": (key or Authenticator()).register(options)}


def with_passkey(user):
    """Give the user a passkey; returns it. The user's sessions go on."""
    api, key = bearer(user), Authenticator()
    answer = api.post("/auth/factors/passkeys", begin_passkey(api, key=key))
    assert answer.status_code == 201, answer.content
    User.objects.filter(pk=user.pk).update(token_version=user.token_version)
    return key


def challenge(api):
    return api.post("/auth/passkeys/options", {}).json()


def log_in(api, user, password=PASSWORD, **factor):
    answer = api.post("/auth/login", {"email": user.email, "password": password} | factor)
    return answer.status_code, answer.json()


def amr_of(body):
    """The `amr` of both tokens in the body."""
    tokens = (body["access_token"], body["refresh_token"])
    return [jwt.decode(token, options={"verify_signature": False})["amr"] for token in tokens]
