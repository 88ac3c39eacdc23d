"""People with second factors."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from signin.factors import totp
from signin.factors.models import Factors, RecoveryCode
from tests.conftest import API, PASSWORD, bearer
from tests.signin.factors.authenticator import Authenticator

SECRET = bytes(range(20))
NOW = 1_800_000_015  # in the middle of a step
PROOF = {"password": PASSWORD}


def code(steps: int = 0, secret: bytes = SECRET) -> str:
    """The code that the app shows so many steps from now."""
    now = int(timezone.now().timestamp()) // 30 + steps
    return totp.app(secret).generate(now * 30).decode()


def wrong_code() -> str:
    """Six digits that are no code of now."""
    right = {code(n) for n in (-2, -1, 0, 1, 2)}
    return next(f"{n:06}" for n in range(10) if f"{n:06}" not in right)


def with_app(user: User) -> list[str]:
    """Give somebody an app with SECRET; their recovery codes."""
    factors = Factors.objects.create(user=user)
    User.objects.filter(pk=user.pk).update(has_second_factor=True)
    factors.add_totp(SECRET, 0, "")
    return RecoveryCode.objects.renew(factors)


def with_passkey(user: User) -> Authenticator:
    """Give somebody a passkey."""
    api, key = bearer(user), Authenticator()
    options = api.post("/auth/factors/passkeys/options", PROOF).json()
    answer = api.post("/auth/factors/passkeys", {"credential": key.register(options)})
    assert answer.status_code == 201, answer.content
    return key


def challenge(api: API) -> dict[str, Any]:
    options: dict[str, Any] = api.post("/auth/passkeys/options", {}).json()
    return options


def log_in(api: API, user: User, password: str = PASSWORD, **proof: Any) -> tuple[int, Any]:
    answer = api.post("/auth/login", {"email": user.email, "password": password} | proof)
    return answer.status_code, answer.json()


@pytest.fixture
def codes(ada: User) -> list[str]:
    """Ada's recovery codes; she has an app."""
    return with_app(ada)


@pytest.fixture
def key(ada: User) -> Authenticator:
    """Ada's passkey."""
    return with_passkey(ada)
