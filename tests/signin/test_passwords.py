"""Every call that takes a password is counted, waits its turn to hash, is recorded, and asks for a
second factor."""

import threading
from unicodedata import normalize

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import check_password
from django.test import Client, RequestFactory
from nacl.pwhash import argon2id

from accounts.models import User
from assistants.models import Client as Assistant
from audit.actors import COMMAND
from audit.models import AuditEvent
from invitations.models import Invitation
from passwords.models import PasswordChange
from signin import hashers
from signin.hashers import OwaspArgon2PasswordHasher as Hasher
from signin.models import SignupLink
from tests import servers
from tests.assistants.conftest import Person, authorization_query
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS, bearer
from tests.signin.factors.helpers import with_app
from tests.signin.helpers import NFC, NFD, PERSON
from tests.throttling.helpers import fail
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

ADA, NEW = "ada@example.com", "charles@example.com"


def log_in(password=PASSWORD):
    return API().post("/auth/login", {"email": ADA, "password": password})


def enter_back_office(password=PASSWORD):
    form = {"username": ADA, "password": password, "next": "/admin/"}
    return Client(raise_request_exception=False).post("/admin/login/", form)


def consent(password=PASSWORD):
    redirect = "http://127.0.0.1:3030/callback"
    request = authorization_query(Assistant.objects.create(name="x", redirect_uris=[redirect]))
    return Person(request).sign_in(ADA, password)


def reauthenticate(password):
    body = {"email": "new@example.com", "password": password}
    return bearer(User.objects.get(email=ADA)).post("/auth/email-changes", body)


def link_call(path, link):
    return lambda: API().post(path, PERSON | {"token": link.token})


# Of each call that hashes a password: the address, and a function of Ada that returns the call.
HASHING_CALLS = {
    "log-in": (ADA, lambda ada: log_in),
    "admin": (ADA, lambda ada: enter_back_office),
    "consent": (ADA, lambda ada: consent),
    "sign-up": (
        NEW,
        lambda ada: link_call("/auth/complete-signup", SignupLink.objects.create(email=NEW)),
    ),
    "invitation": (
        NEW,
        lambda ada: link_call("/invitations/accept", Invitation.objects.invite(ada, NEW)),
    ),
    "password change": (
        ADA,
        lambda ada: link_call("/password-changes/redeem", PasswordChange.objects.make_link(ada)),
    ),
}


@pytest.fixture(params=HASHING_CALLS)
def hashing_call(request, ada):
    """An address, and a call that has a password hashed for it."""
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    email, make = HASHING_CALLS[request.param]
    return email, make(User.objects.get(pk=ada.pk))


@pytest.fixture
def hashes(monkeypatch):
    """The steps taken for passwords from here on: "slot" or "hash"."""
    steps = []

    class Slots(threading.BoundedSemaphore):
        def acquire(self, *args, **options):
            steps.append("slot")
            return super().acquire(*args, **options)

    monkeypatch.setattr(hashers, "hash_slots", Slots())
    for name in ("encode", "verify"):
        real = getattr(Hasher, name)

        def spy(*args, real=real):
            steps.append("hash")
            return real(*args)

        monkeypatch.setattr(Hasher, name, spy)
    return steps


def count_of_requests():
    """The number of requests that the credential tier has counted."""
    return servers.REDIS.client.get("throttle:credential:127.0.0.1")


def test_every_call_that_hashes_is_counted_queued_and_recorded(hashing_call, hashes):
    email, call = hashing_call
    before = AuditEvent.objects.count()
    answer = call()

    assert answer.status_code in {200, 302}, answer.content
    assert count_of_requests() == b"1"
    assert hashes == ["slot", "hash"]
    assert AuditEvent.objects.count() == before + 1
    assert AuditEvent.objects.order_by("-pk")[0].subject == email


def test_no_call_hashes_once_the_caller_has_spent_the_limit(hashing_call, hashes, settings):
    settings.RATE_LIMIT_CREDENTIAL = 0

    assert hashing_call[1]().status_code == 429
    assert hashes == []


def test_no_call_hashes_for_a_locked_address_or_uses_a_link_up(hashing_call, hashes):
    email, call = hashing_call
    fail(5, email)
    refused = call()

    assert (refused.status_code, hashes) == (429, ["slot"])
    is_page = refused["Content-Type"].startswith("text/html")
    assert is_page or refused.json() == TOO_MANY_ATTEMPTS
    assert "x-ratelimit-limit" not in refused
    assert Lockout.objects.get().refusals == 1
    Lockout.objects.unlock(email, COMMAND)
    assert call().status_code in {200, 302}


def test_full_queue_refuses_every_call_that_hashes_and_uses_no_link_up(
    hashing_call, hashes, monkeypatch
):
    queue = threading.BoundedSemaphore(1)
    queue.acquire()
    monkeypatch.setattr(hashers, "caller_slots", queue)
    refused = hashing_call[1]()

    assert (refused.status_code, refused["Retry-After"], hashes) == (503, "2", [])
    is_page = refused["Content-Type"].startswith("text/html")
    assert is_page or refused.json() == {"error": "service unavailable"}
    queue.release()
    assert hashing_call[1]().status_code in {200, 302}


def hashed_by_2_1(password):
    return f"argon2{argon2id.str(password.encode(), 1, 8192).decode()}"


@pytest.mark.parametrize("call", [log_in, enter_back_office, consent, reauthenticate])
@pytest.mark.parametrize("hashed", [NFC, NFD, NFC + NFD])
def test_hash_of_release_2_1_is_right_in_every_spelling_and_renewed(ada, call, hashed):
    """A mixture of both is right as it was hashed. No failed attempt is counted."""
    for password in [NFC, NFD] if len(hashed) < len(NFC + NFD) else [hashed]:
        User.objects.update(password=hashed_by_2_1(hashed), is_staff=True)
        assert call(password).status_code in {200, 302}
        assert check_password(normalize("NFC", hashed), User.objects.get().password)
    call(normalize("NFD", hashed))
    assert not Lockout.objects.exists()


def test_long_password_is_not_normalised(ada, hashes):
    """Normalising takes quadratic time: seconds for a form full of accents."""
    form = {"username": ada.email, "password": "a" + "\u0301\u0316" * 10_000}

    assert Client().post("/admin/login/", form).status_code == 200
    assert hashes == ["slot", "hash"]


def test_full_queue_answers_alike_for_registered_and_unknown_addresses(ada, monkeypatch, costs):
    monkeypatch.setattr(hashers, "caller_slots", threading.BoundedSemaphore(0))
    answers = []

    def log_in_as(email):
        answers.append(API().post("/auth/login", {"email": email, "password": PASSWORD}))
        return answers[-1]

    for email in (ADA, "nobody@example.com"):
        assert costs(lambda email=email: log_in_as(email)) == (503, 0, 1)
    assert answers[0].content == answers[1].content
    assert sorted(answers[0].headers) == sorted(answers[1].headers)


@pytest.mark.parametrize(
    "hashing_call",
    [name for name, (email, _) in HASHING_CALLS.items() if email != NEW],
    indirect=True,
)
def test_every_call_that_takes_a_password_asks_for_the_factor(hashing_call, ada):
    with_app(ada)

    answer = hashing_call[1]()

    page = answer.content.decode()
    assert "second factor required" in page or "one-time-code" in page
    assert not {"service_refresh", "sessionid"} & set(answer.cookies)


def test_djangos_own_authenticate_lets_nobody_in(ada, hashes):
    request = RequestFactory().post("/anywhere")

    assert authenticate(request, username=ada.email, password=PASSWORD) is None
    assert hashes == []
