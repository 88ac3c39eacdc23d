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
from tests.signin.conftest import NFC, NFD, PERSON
from tests.signin.factors.conftest import with_app
from tests.throttling.helpers import fail
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

NEW = "charles@example.com"


def typed(path, email, name):
    """A form of a page that asks for a password; a browser of its own fills it in."""
    form = {name: email, "password": PASSWORD}
    return lambda: Client(raise_request_exception=False).post(path, form)


def redeemed(path, link):
    return lambda: API().post(path, PERSON | {"token": link.token})


def consent(password=PASSWORD):
    redirect = "http://127.0.0.1:3030/callback"
    request = authorization_query(Assistant.objects.create(name="x", redirect_uris=[redirect]))
    return lambda: Person(request).sign_in("ada@example.com", password)


# Each way to have a password hashed, made for the owner of an address.
WAYS = {
    "log-in": (
        "ada@example.com",
        lambda ada: lambda: API().post("/auth/login", {"email": ada.email, "password": PASSWORD}),
    ),
    "admin": ("ada@example.com", lambda ada: typed("/admin/login/", ada.email, "username")),
    "consent": ("ada@example.com", lambda ada: consent()),
    "sign-up": (
        NEW,
        lambda ada: redeemed("/auth/complete-signup", SignupLink.objects.create(email=NEW)),
    ),
    "invitation": (
        NEW,
        lambda ada: redeemed("/invitations/accept", Invitation.objects.invite(ada, NEW)),
    ),
    "password change": (
        "ada@example.com",
        lambda ada: redeemed("/password-changes/redeem", PasswordChange.objects.make_link(ada)),
    ),
}


@pytest.fixture(params=WAYS)
def way(request, ada):
    """An address, and a call that has a password hashed for it."""
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    email, make = WAYS[request.param]
    return email, make(User.objects.get(pk=ada.pk))


@pytest.fixture
def hashes(monkeypatch):
    """What was done for each password from here on, in order."""
    done = []

    class Turns(threading.BoundedSemaphore):
        def acquire(self, *args, **options):
            done.append("turn")
            return super().acquire(*args, **options)

    monkeypatch.setattr(hashers, "hash_slots", Turns())
    for name in ("encode", "verify"):
        real = getattr(Hasher, name)

        def spy(*words, real=real):
            done.append("hash")
            return real(*words)

        monkeypatch.setattr(Hasher, name, spy)
    return done


def counted():
    """How many requests the credential tier has counted from here."""
    return servers.REDIS.client.get("throttle:credential:127.0.0.1")


def test_every_way_is_counted_queued_and_recorded(way, hashes):
    email, call = way
    before = AuditEvent.objects.count()
    answer = call()

    assert answer.status_code in {200, 302}, answer.content
    assert counted() == b"1"
    assert hashes == ["turn", "hash"]
    assert AuditEvent.objects.count() == before + 1
    assert AuditEvent.objects.order_by("-pk")[0].subject == email


def test_no_way_hashes_for_whoever_has_spent_the_limit(way, hashes, settings):
    settings.RATE_LIMIT_CREDENTIAL = 0

    assert way[1]().status_code == 429
    assert hashes == []


def test_no_way_hashes_for_a_locked_address_or_uses_a_link_up(way, hashes):
    email, call = way
    fail(5, email)
    refused = call()

    assert (refused.status_code, hashes) == (429, ["turn"])
    is_page = refused["Content-Type"].startswith("text/html")
    assert is_page or refused.json() == TOO_MANY_ATTEMPTS
    assert "x-ratelimit-limit" not in refused
    assert Lockout.objects.get().refusals == 1
    Lockout.objects.unlock(email, COMMAND)
    assert call().status_code in {200, 302}


def test_full_queue_refuses_every_way_and_uses_no_link_up(way, hashes, monkeypatch):
    queue = threading.BoundedSemaphore(1)
    queue.acquire()
    monkeypatch.setattr(hashers, "caller_slots", queue)
    refused = way[1]()

    assert (refused.status_code, refused["Retry-After"], hashes) == (503, "2", [])
    is_page = refused["Content-Type"].startswith("text/html")
    assert is_page or refused.json() == {"error": "service unavailable"}
    queue.release()
    assert way[1]().status_code in {200, 302}


def hashed_by_2_1(password):
    return f"argon2{argon2id.str(password.encode(), 1, 8192).decode()}"


def reauthentication(password):
    ada = User.objects.get(email="ada@example.com")
    body = {"email": "new@example.com", "password": password}
    return bearer(ada).post("/auth/email-changes", body)


@pytest.mark.parametrize("way", ["log-in", "admin", "consent", "reauthentication"])
@pytest.mark.parametrize("hashed", [NFC, NFD, NFC + NFD])
def test_hash_of_2_1_is_right_in_every_spelling_and_renewed(ada, hashes, monkeypatch, way, hashed):
    """A mixture of both is right as it was hashed. No failed attempt is counted."""
    composed = normalize("NFC", hashed)
    calls = {
        "log-in": lambda typed: API().post("/auth/login", {"email": ada.email, "password": typed}),
        "admin": lambda typed: Client().post(
            "/admin/login/", {"username": ada.email, "password": typed}
        ),
        "consent": lambda typed: consent(typed)(),
        "reauthentication": reauthentication,
    }
    for typed in [NFC, NFD] if len(hashed) < len(NFC + NFD) else [hashed]:
        User.objects.update(password=hashed_by_2_1(hashed), is_staff=True)
        assert calls[way](typed).status_code in {200, 302}
        stored = User.objects.get().password
        assert check_password(composed, stored)
    calls[way](normalize("NFD", hashed))
    assert not Lockout.objects.exists()


def test_long_password_is_not_normalised(ada, hashes):
    """Normalising takes quadratic time: seconds for a form full of accents."""
    form = {"username": ada.email, "password": "a" + "\u0301\u0316" * 10_000}

    assert Client().post("/admin/login/", form).status_code == 200
    assert hashes == ["turn", "hash"]


def test_full_queue_tells_known_and_unknown_addresses_the_same(ada, monkeypatch, costs):
    monkeypatch.setattr(hashers, "caller_slots", threading.BoundedSemaphore(0))
    answers = []

    def log_in(email):
        answers.append(API().post("/auth/login", {"email": email, "password": PASSWORD}))
        return answers[-1]

    for email in (ada.email, "nobody@example.com"):
        assert costs(lambda email=email: log_in(email)) == (503, 0, 1)
    assert answers[0].content == answers[1].content
    assert sorted(answers[0].headers) == sorted(answers[1].headers)


@pytest.mark.parametrize(
    "way", [name for name, (email, _) in WAYS.items() if email != NEW], indirect=True
)
def test_every_way_in_asks_for_the_factor(way, ada):
    with_app(ada)

    answer = way[1]()

    said = answer.content.decode()
    assert "second factor required" in said or "one-time-code" in said
    assert not {"service_refresh", "sessionid"} & set(answer.cookies)


def test_djangos_own_authenticate_lets_nobody_in(ada, hashes):
    request = RequestFactory().post("/anywhere")

    assert authenticate(request, username=ada.email, password=PASSWORD) is None
    assert hashes == []
