"""Second factors with DEVICE_LOCKOUT: whose failures count, and whose lock holds."""

import pytest

from tests.clients import API
from tests.signin.factors.helpers import (
    challenge,
    code,
    log_in,
    with_app,
    with_passkey,
    wrong_code,
)
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def device_lockout(settings):
    settings.DEVICE_LOCKOUT = True


@pytest.fixture
def known_browser(ada):
    """A browser in which Ada has signed in with her app."""
    with_app(ada)
    api = API()
    assert log_in(api, ada, code=code(-1))[0] == 200
    return api


def test_strangers_wrong_codes_lock_strangers_out_alone(known_browser, ada):
    stranger = API()
    for _ in range(5):
        log_in(stranger, ada, code=wrong_code())

    assert log_in(stranger, ada, code=code())[0] == 429
    assert log_in(known_browser, ada, code=code())[0] == 200


def test_known_devices_wrong_codes_are_its_own(known_browser, ada):
    for _ in range(5):
        log_in(known_browser, ada, code=wrong_code())

    assert log_in(known_browser, ada, code=code())[0] == 429
    assert log_in(API(), ada, code=code())[0] == 200
    assert Lockout.objects.get().device


def test_right_password_without_the_code_makes_no_browser_known(ada):
    with_app(ada)
    api = API()

    log_in(api, ada)

    assert "service_device" not in api.cookies


def test_passkey_makes_the_browser_known(ada):
    key, api = with_passkey(ada), API()

    api.post("/auth/passkeys/login", {"credential": key.sign(challenge(api))})

    assert api.cookies["service_device"].value
