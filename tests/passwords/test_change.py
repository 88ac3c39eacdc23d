"""POST /auth/password: a new password in place of the current one."""

from functools import partial

import pytest

from accounts.models import User
from audit.models import AuditEvent, Kind
from passwords.models import PasswordChange
from signin.devices import Device
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS, bearer
from tests.mailbox import mailed
from tests.passwords.conftest import NEW, new_token, redeem
from tests.races import race
from tests.signin.factors.helpers import amr_of, code, log_in, with_app, wrong_code
from tests.signin.helpers import assert_signed_in
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db


def change(client, password=PASSWORD, new=NEW, **more):
    body = {"password": password, "new_password": new}
    return client.post("/auth/password", body | more)


def test_session_goes_on_under_the_new_password(api, as_bob, bob):
    answer = change(as_bob)

    assert_signed_in(as_bob, answer)
    assert answer.json()["token_type"] == "Bearer"
    assert (log_in(api, bob)[0], log_in(api, bob, NEW)[0]) == (401, 200)


def test_other_sessions_and_mailed_links_end(as_bob, bob):
    token, tab = new_token(bob), API()
    log_in(tab, bob)

    change(bearer(bob))

    assert as_bob.get("/auth/me").status_code == 401
    assert tab.post("/auth/refresh").status_code == 401
    assert redeem(API(), token).status_code == 400


def test_change_is_recorded_and_mailed(as_bob, bob):
    change(as_bob)

    event = AuditEvent.objects.get(kind=Kind.PASSWORD_CHANGED)
    assert (event.actor_id, event.subject_id) == (bob.pk, bob.pk)
    message = mailed()
    assert (message.to, message.subject) == ([bob.email], "Your password was changed")
    assert "Someone knows your old password" in message.body
    assert "mailbox" not in message.body


def test_wrong_password_is_a_failed_attempt(as_bob, bob):
    answer = change(as_bob, "a wrong guess")
    assert (answer.status_code, answer.json()) == (403, {"error": "wrong password"})
    fail(4, bob.email)

    locked = change(as_bob)

    assert (locked.status_code, locked.json()) == (429, TOO_MANY_ATTEMPTS)
    assert User.objects.get(pk=bob.pk).password == bob.password


def test_second_factor_is_asked_for(as_bob, bob):
    with_app(bob)

    without = change(as_bob)
    assert (without.status_code, without.json()["error"]) == (403, "second factor required")
    assert change(as_bob, code=wrong_code()).json()["error"] == "wrong code"
    assert change(as_bob, code=code()).status_code == 200


@pytest.mark.parametrize("new", ["short77", "password123", "Bob.Boole.1815", None, 12345678])
def test_refused_password_uses_no_code_up(as_bob, bob, new):
    with_app(bob)

    answer = change(as_bob, new=new, code=code())

    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["new_password"])
    assert change(as_bob, code=code()).status_code == 200


def test_session_keeps_its_methods_and_its_age(api, bob):
    with_app(bob)
    signed_in = log_in(api, bob, code=code())[1]
    session = API(authorization=f"Bearer {signed_in['access_token']}")

    renewed = change(session, code=code(1)).json()

    assert amr_of(renewed) == amr_of(signed_in) == [["pwd", "otp", "mfa"]] * 2


def test_browser_stays_a_known_device(api, bob, settings):
    settings.DEVICE_LOCKOUT = True
    signed_in = log_in(api, bob)[1]
    api.headers = {"authorization": f"Bearer {signed_in['access_token']}"}

    change(api)

    assert Device.objects.live().count() == 1


def test_session_that_ended_meanwhile_changes_nothing(bob, as_bob, monkeypatch):
    def take_back(*args):
        User.objects.filter(pk=bob.pk).sign_out()

    monkeypatch.setattr("passwords.views.reauthenticate", take_back)

    assert change(as_bob).status_code == 401
    assert User.objects.get(pk=bob.pk).password == bob.password
    assert not PasswordChange.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_five_changes_at_once_make_one_password(api, bob):
    calls = [partial(change, bearer(bob), new=f"password number {n}") for n in range(5)]

    answers = race(*calls)

    statuses = [answer.status_code for answer in answers]
    assert statuses.count(200) == 1
    assert log_in(api, bob, f"password number {statuses.index(200)}")[0] == 200
