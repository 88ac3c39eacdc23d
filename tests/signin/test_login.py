"""POST /auth/login."""

import itertools
import statistics
import time

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

WRONG = (401, {"error": "wrong e-mail or password"})


def log_in(api, email="ada@example.com", password=PASSWORD):
    answer = api.post("/auth/login", {"email": email, "password": password})
    return answer.status_code, answer.json()


def test_gives_a_pair_the_user_and_the_cookie(api, ada):
    answer = api.post("/auth/login", {"email": " ADA@Example.com ", "password": PASSWORD})

    body = answer.json()
    assert (answer.status_code, body["token_type"]) == (200, "Bearer")
    assert body["user"]["id"] == str(ada.pk)
    assert answer["Cache-Control"] == "no-store"
    assert api.cookies["service_refresh"].value == body["refresh_token"]


def test_cookie_is_bound_to_the_auth_paths_and_hidden_from_scripts(api, ada):
    log_in(api)

    cookie = api.cookies["service_refresh"]
    assert (cookie["path"], cookie["httponly"], cookie["secure"]) == ("/auth", True, True)
    assert (cookie["samesite"], cookie["max-age"]) == ("Lax", 86400)


def test_cookie_lasts_as_long_as_its_token_however_slow_the_machine(api, ada, monkeypatch):
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

    answers = [
        api.post("/auth/login", {"email": email, "password": password})
        for email, password in [
            ("ada@example.com", "wrong password"),
            ("nobody@example.com", PASSWORD),
            ("bob@example.com", PASSWORD),
            ("eve@example.org", PASSWORD),
        ]
    ]

    assert {(a.status_code, a.content) for a in answers} == {(401, answers[0].content)}
    assert len({tuple(sorted(a.headers)) for a in answers}) == 1
    assert answers[0]["WWW-Authenticate"] == "Bearer"


def test_every_refusal_takes_one_hash_and_the_same_queries(api, ada, bob, monkeypatch):
    from signin.hashers import OwaspArgon2PasswordHasher as Hasher

    User.objects.filter(pk=bob.pk).update(is_active=False)
    log_in(api, "warm-up@example.com")  # makes the dummy hash
    hashes = []
    verify = Hasher.verify
    encode = Hasher.encode
    monkeypatch.setattr(Hasher, "verify", lambda *words: hashes.append("verify") or verify(*words))
    monkeypatch.setattr(Hasher, "encode", lambda *words: hashes.append("encode") or encode(*words))

    queries = set()
    for email in ("ada@example.com", "nobody@example.com", "bob@example.com"):
        hashes.clear()
        with CaptureQueriesContext(connection) as asked:
            assert log_in(api, email, "wrong password") == WRONG
        assert hashes == ["verify"], email
        queries.add(len(asked))
    assert len(queries) == 1


def test_unknown_addresses_take_as_long_as_known_ones(api, ada, real_hashes):
    log_in(api, "warm-up@example.com")
    times = {"ada@example.com": [], "nobody@example.com": []}
    with override_settings(LOCKOUT_THRESHOLD=1000):
        for _ in range(12):
            for email, measured in times.items():
                begin = time.perf_counter()
                log_in(api, email, "wrong password")
                measured.append(time.perf_counter() - begin)

    known, unknown = (statistics.median(measured) for measured in times.values())
    assert 0.2 < known / unknown < 5  # without a hash it would be a tenth


@pytest.mark.parametrize("header", ["Bearer stale.token.here", "Bearer", "Basic eDp5"])
def test_stale_bearer_header_does_not_block_it(api, ada, header):
    answer = api.post(
        "/auth/login",
        {"email": "ada@example.com", "password": PASSWORD},
        headers={"authorization": header},
    )

    assert answer.status_code == 200


def test_empty_password_is_refused_for_everybody_alike(api, ada):
    known, unknown = log_in(api, password=""), log_in(api, "nobody@example.com", "")

    assert known == unknown
    assert known[0] == 400


def test_spaces_in_a_password_count(api, ada):
    assert log_in(api, password=f" {PASSWORD}") == WRONG


def test_old_hash_is_renewed(api, ada, real_hashes):
    djangos = Argon2PasswordHasher()
    encoded = djangos.encode(PASSWORD, djangos.salt())
    User.objects.filter(pk=ada.pk).update(password=encoded)

    assert log_in(api)[0] == 200

    encoded = User.objects.get(pk=ada.pk).password
    assert encoded.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert check_password(PASSWORD, encoded)
