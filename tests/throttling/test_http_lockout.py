"""A locked address cannot sign in by any call, from anywhere. Other addresses can."""

import pytest
import time_machine

from accounts import tokens
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS
from tests.signin.helpers import PERSON
from tests.throttling.conftest import limits
from throttling.models import Lockout

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis", "quick_passwords")]


@pytest.fixture(autouse=True)
def many_calls(settings):
    """Raises the credential limit, since the tests of this file are about lockouts."""
    settings.RATE_LIMIT_CREDENTIAL = 1000


@pytest.fixture
def time():
    with time_machine.travel("2026-11-21T12:00:00Z", tick=False) as coordinates:
        yield coordinates


def call(path, body, peer="203.0.113.1"):
    return API().post(path, body, REMOTE_ADDR=peer)


def log_in(email="ada@example.com", password=PASSWORD, **options):
    return call("/auth/login", {"email": email, "password": password}, **options)


def guess(times, email="ada@example.com"):
    return [log_in(email, "wrong password").status_code for _ in range(times)]


def refresh(user):
    body = {"refresh_token": str(tokens.issue_pair(user)[1])}
    return lambda **options: call("/auth/refresh", body, **options)


def complete(path, email):
    link = SignupLink.objects.create(email=email)
    return lambda **options: call(path, PERSON | {"token": link.token}, **options)


def is_refusal(answer):
    return (answer.status_code, answer.json()) == (429, TOO_MANY_ATTEMPTS)


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_threshold_th_failure_is_the_last_401(ada, email):
    assert guess(7, email) == [401] * 5 + [429] * 2
    assert is_refusal(log_in(email))


def test_lock_is_mailed_once_and_no_failure_before_it():
    guess(4)
    assert not OutgoingMail.objects.exists()

    guess(3)

    assert OutgoingMail.objects.count() == 1


@pytest.mark.parametrize("peer", ["203.0.113.1", "198.51.100.7", "2001:db8::1", ""])
def test_locked_address_cannot_sign_in_by_any_call_from_anywhere(ada, peer):
    ways = [log_in, refresh(ada), complete("/auth/complete-signup", ada.email)]
    ways.append(complete("/auth/register", ada.email))
    guess(5)

    answers = [way(peer=peer) for way in ways]
    assert all(is_refusal(answer) for answer in answers)
    assert all(0 < int(limits(answer)["retry-after"]) <= 60 for answer in answers)
    assert all("Set-Cookie" not in answer for answer in answers)


def test_access_token_of_a_locked_address_still_works(ada, as_ada):
    guess(5)

    assert as_ada.get("/auth/me").status_code == 200


def test_lock_ends_in_time_although_attempts_go_on(ada, time):
    guess(5)
    time.shift(890)
    assert guess(20) == [429] * 20
    time.shift(9)
    assert is_refusal(log_in())

    time.shift(1)

    assert log_in().status_code == 200
    assert guess(6) == [401] * 5 + [429]


def test_log_in_clears_the_count_of_failures(ada):
    guess(4)
    assert log_in().status_code == 200

    assert guess(4) == [401] * 4
    assert log_in().status_code == 200


def test_refresh_does_not_clear_the_count_of_failures(ada):
    open_tab = refresh(ada)
    assert guess(4) == [401] * 4
    assert open_tab().status_code == 200

    assert guess(2) == [401, 429]
    assert is_refusal(open_tab())


def test_invalid_input_counts_as_no_failed_attempt(ada):
    for body in [{}, {"email": ada.email}, {"email": ada.email, "password": ""}, {"email": 7}]:
        assert call("/auth/login", body).status_code == 400
    call("/auth/login", {"email": ada.email, "password": "x" * 257})

    assert not Lockout.objects.exists()


def test_throttled_guess_counts_as_no_failed_attempt(ada, settings):
    settings.RATE_LIMIT_CREDENTIAL = 2

    assert guess(6) == [401, 401, 429, 429, 429, 429]
    assert Lockout.objects.get().failures == 2


# ---- Spellings of an address --------------------------------------------------------------------


def test_spellings_of_one_address_are_one_counter(ada):
    spellings = ["ada@example.com", " ada@example.com  ", "ADA@example.com", "ada@EXAMPLE.Com"]
    spellings.append("\u2003Ada@Example.COM\u00a0")
    answers = [log_in(email, "wrong password") for email in spellings]

    assert [answer.status_code for answer in answers] == [401] * 5
    assert list(Lockout.objects.values_list("email", "failures")) == [("ada@example.com", 5)]
    assert is_refusal(log_in(" ADA@example.com"))


@pytest.mark.parametrize(
    "email",
    [
        *["\u212aate@example.com", "kat\uff45@example.com"],  # the Kelvin sign, a fullwidth e
        *["kate\u0131@example.com", "kate@\uff45xample.com"],  # an i without its dot
        *['"kate"@example.com', "kate@exam ple.com", "kate", "@example.com"],
        *["kate@stra\u00dfe.example", "kate@exam\u200dple.com"],  # "ss" in IDNA 2003, a joiner
        *["kate\t@example.com", "kate@example.com\n", "kate @example.com", "kate@example.com\x00"],
        *["kate@example.com,bob@example.com", "Kate <kate@example.com>", "kate@example.com."],
        *["kate@@example.com", f"kate@{'a' * 250}.com", f"{'k' * 10_240}@example.com", "", "@"],
    ],
)
def test_address_that_looks_like_another_is_refused_and_not_counted(email):
    answer = log_in(email, "wrong password")

    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == {"email"}
    assert not Lockout.objects.exists()
