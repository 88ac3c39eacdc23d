"""POST /auth/login."""

import itertools
import threading
import time
from functools import partial

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, make_password
from django.db import connection
from django.test.utils import CaptureQueriesContext
from nacl.pwhash import argon2id

from accounts.models import User
from signin import credentials
from signin.hashers import OwaspArgon2PasswordHasher as Hasher
from tests.cast import PASSWORD
from tests.clients import API
from tests.races import race
from tests.signin.helpers import NFC, NFD, assert_signed_in

pytestmark = pytest.mark.django_db

WRONG = (401, {"error": "wrong e-mail or password"})


def log_in(api, email="ada@example.com", password=PASSWORD):
    answer = api.post("/auth/login", {"email": email, "password": password})
    return answer.status_code, answer.json()


def test_log_in_gives_tokens_the_user_and_the_cookie(api, ada):
    answer = api.post("/auth/login", {"email": " ADA@Example.com ", "password": PASSWORD})

    assert_signed_in(api, answer)
    assert (answer.json()["token_type"], answer.json()["user"]["id"]) == ("Bearer", str(ada.pk))
    assert answer["Cache-Control"] == "no-store"
    cookie = answer.cookies["service_refresh"]
    assert (cookie["samesite"], cookie["max-age"]) == ("Lax", 86400)


def test_refresh_cookie_lasts_as_long_as_its_token_on_a_slow_machine(api, ada, monkeypatch):
    clock = itertools.count(int(time.time()))  # a second passes with each look at it
    monkeypatch.setattr(time, "time", lambda: next(clock))
    log_in(api)

    assert api.cookies["service_refresh"]["max-age"] == 86400


def test_wrong_password_unknown_address_inactive_and_passwordless_users_look_alike(
    api, ada, bob, eve
):
    User.objects.filter(pk=bob.pk).update(is_active=False)
    eve.set_unusable_password()
    eve.save()

    tried = [("ada@example.com", "wrong password"), ("ada@example.com", f" {PASSWORD}")]
    tried += [("nobody@example.com", PASSWORD), ("bob@example.com", PASSWORD)]
    tried += [("eve@example.org", PASSWORD)]

    answers = [api.post("/auth/login", {"email": a, "password": b}) for a, b in tried]

    assert {(a.status_code, a.content) for a in answers} == {(401, answers[0].content)}
    assert len({tuple(sorted(a.headers)) for a in answers}) == 1
    assert answers[0]["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("password", "count"),
    [("wrong password", 1), (NFC, 2), (NFD, 2), (NFC + NFD, 2), ("\u5bc6" * 8, 1)],
)
def test_every_refused_log_in_takes_the_same_hashes_and_queries(
    api, ada, bob, monkeypatch, password, count
):
    """A password with two spellings takes two hashes, whether or not it would be right."""
    User.objects.filter(pk=bob.pk).update(is_active=False, password=make_password(password))
    log_in(api, "warm-up@example.com")  # makes the dummy hash
    hashes = []
    verify, encode = Hasher.verify, Hasher.encode
    monkeypatch.setattr(Hasher, "verify", lambda *args: hashes.append("verify") or verify(*args))
    monkeypatch.setattr(Hasher, "encode", lambda *args: hashes.append("encode") or encode(*args))

    queries = set()
    for email in ("ada@example.com", "nobody@example.com", "bob@example.com"):
        hashes.clear()
        with CaptureQueriesContext(connection) as captured:
            assert log_in(api, email, password) == WRONG
        assert hashes == ["verify"] * count, email
        queries.add(tuple(query["sql"].split()[0] for query in captured))
    assert len(queries) == 1


@pytest.mark.parametrize("header", ["Bearer stale.token.here", "Bearer", "Basic eDp5"])
def test_stale_bearer_header_does_not_block_a_log_in(api, ada, header):
    api.headers["authorization"] = header

    assert log_in(api)[0] == 200


def test_empty_password_is_refused_alike_for_every_address(api, ada):
    registered, unknown = log_in(api, password=""), log_in(api, "nobody@example.com", "")

    assert registered == unknown
    assert registered[0] == 400


def test_log_in_renews_an_old_hash(ada, real_hashes, rf):
    djangos = Argon2PasswordHasher()
    encoded = djangos.encode(PASSWORD, djangos.salt())
    User.objects.filter(pk=ada.pk).update(password=encoded)

    user, _ = credentials.check_credentials(rf.post("/"), ada.email, PASSWORD)

    encoded = User.objects.get(pk=ada.pk).password
    assert encoded.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert check_password(PASSWORD, encoded)
    assert user.password == encoded  # of which the admin site's session is made


def test_log_in_renews_a_present_hash_of_another_spelling(ada, rf):
    decomposed = argon2id.str(NFD.encode(), Hasher.time_cost, Hasher.memory_cost * 1024)
    User.objects.filter(pk=ada.pk).update(password=f"argon2{decomposed.decode()}")

    user, _ = credentials.check_credentials(rf.post("/"), ada.email, NFC)

    assert user.password == User.objects.get(pk=ada.pk).password
    assert Hasher().verify(NFC, user.password)  # in this very spelling


@pytest.mark.django_db(transaction=True)
def test_password_that_changes_while_its_old_hash_is_renewed_stays(ada, monkeypatch):
    djangos = Argon2PasswordHasher()
    old, new = (
        djangos.encode(password, djangos.salt()) for password in (PASSWORD, "a new password")
    )
    User.objects.filter(pk=ada.pk).update(password=old)
    renewing, changed = threading.Event(), threading.Event()

    def renew(password):
        renewing.set()
        assert changed.wait(60)
        return make_password(password)

    def change():
        assert renewing.wait(60)
        User.objects.filter(pk=ada.pk).update(password=new)
        changed.set()

    monkeypatch.setattr(credentials, "make_password", renew)
    race(partial(log_in, API()), change)

    assert User.objects.get(pk=ada.pk).password == new
