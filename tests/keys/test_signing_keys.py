"""The signing keys of one process: which one signs, which verify, and for how long."""

import time

import jwt
import pytest
from django.db import OperationalError

from accounts import tokens
from audit.models import Record
from keys import cache
from keys.cache import SigningKeys, signing_keys
from keys.models import SigningKey
from tests.conftest import API, bearer, race
from tests.keys.conftest import grow_older, look, me, published

pytestmark = pytest.mark.django_db
OLD, NEW = "the preceding secret of the service", "the secret of the service from now on"


def signed_by(token):
    return jwt.get_unverified_header(str(token))["kid"]


def test_new_key_is_published_at_once_and_signs_after_the_delay(first, ada):
    new = SigningKey.objects.publish(600)
    look()
    access = str(tokens.issue(ada)[0])
    assert published() == [first.kid, new.kid]
    assert signed_by(access) == first.kid

    grow_older(seconds=601)

    assert signed_by(tokens.issue(ada)[0]) == new.kid
    assert me(access) == 200
    assert Record.objects.filter(kind="key.published", subject=new.kid).count() == 1


def test_key_goes_when_its_last_token_has_expired(first, settings):
    SigningKey.objects.publish(600)
    life = settings.REFRESH_TOKEN_SECONDS + 2 * settings.JWT_LEEWAY_SECONDS
    grow_older(seconds=600 + life)
    assert SigningKey.objects.prune() == 0
    grow_older(seconds=3)

    assert SigningKey.objects.prune() == 1
    assert not SigningKey.objects.filter(kid=first.kid).exists()
    assert Record.objects.filter(kind="key.removed", subject=first.kid).count() == 1


def test_withdrawn_key_is_refused_and_published_no_more(first, ada, api):
    access, refresh = map(str, tokens.issue(ada))
    new = SigningKey.objects.publish(0)
    SigningKey.objects.withdraw(first.kid)
    look()

    assert me(access) == 401
    assert api.post("/auth/refresh", {"refresh_token": refresh}).status_code == 401
    assert published() == [new.kid]
    assert SigningKey.objects.get(kid=first.kid).private_key == ""


def test_key_that_follows_a_withdrawn_one_signs_before_its_time(first, ada):
    new = SigningKey.objects.publish(600)
    SigningKey.objects.withdraw(first.kid)
    look()

    assert signed_by(tokens.issue(ada)[0]) == new.kid


@pytest.mark.django_db(transaction=True)
def test_hosts_that_start_together_make_one_key(first):
    SigningKey.objects.all().delete()

    race(*[SigningKey.objects.make_first] * 4)

    assert SigningKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_last_two_keys_withdrawn_together_leave_one_that_signs(first):
    second = SigningKey.objects.publish(0)

    race(*[lambda kid=kid: SigningKey.objects.withdraw(kid) for kid in (first.kid, second.kid)])

    assert SigningKey.objects.filter(withdrawn_at=None).count() == 1


def test_calls_within_two_seconds_read_the_keys_once(first, ada, django_assert_num_queries):
    caller = bearer(ada)

    with django_assert_num_queries(10):  # the user's
        for _ in range(10):
            caller.get("/auth/me")


def test_made_up_kid_is_refused_without_a_query(first, django_assert_num_queries):
    _, private = signing_keys.signing_key()
    caller = API(authorization="Bearer " + jwt.encode({}, private, "RS256", {"kid": "0" * 43}))

    with django_assert_num_queries(0):
        assert caller.get("/auth/me").status_code == 401


def fail(*args):
    raise OperationalError("unavailable")


def test_keys_stay_while_the_database_is_unavailable(first, ada, monkeypatch):
    access = str(tokens.issue(ada)[0])
    monkeypatch.setattr(signing_keys, "refresh", fail)
    look()

    assert me(access) == 200
    assert published() == [first.kid]


def test_process_that_has_never_read_the_keys_answers_503(ada, monkeypatch):
    signing_keys.__init__()
    monkeypatch.setattr(signing_keys, "refresh", fail)

    assert API().get("/.well-known/jwks.json").status_code == 503


def test_request_reads_nothing_in_a_process_that_watches(first, monkeypatch):
    kept = SigningKeys()
    kept.refresh()
    kept.is_watched = True
    monkeypatch.setattr(kept, "refresh", fail)
    kept.next_read = time.monotonic() - 60

    assert kept.signing_key()[0] == first.kid


def test_client_that_has_the_keys_is_told_so_until_they_change(first):
    answer = API().get("/.well-known/jwks.json")
    caller = API(if_none_match=f'"older", W/{answer["ETag"]}')
    same = caller.get("/.well-known/jwks.json")

    assert answer["Cache-Control"] == same["Cache-Control"] == "public, max-age=60"
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", answer["ETag"])
    SigningKey.objects.publish(600)
    look()
    changed = caller.get("/.well-known/jwks.json")
    assert (changed.status_code, len(changed.json()["keys"])) == (200, 2)


@pytest.fixture
def secrets(settings):
    def change(secret, *fallbacks):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secret, list(fallbacks)
        signing_keys.__init__()

    return change


def test_changed_secret_encrypts_the_keys_anew(secrets, first):
    secrets(OLD)
    SigningKey.objects.replace_all()
    row = SigningKey.objects.get(withdrawn_at=None)
    assert OLD not in row.private_key
    secrets(NEW, OLD)
    assert signing_keys.signing_key()[0] == row.kid
    cache.prepare()
    secrets(NEW)

    assert signing_keys.signing_key()[0] == row.kid


def test_key_that_cannot_be_decrypted_verifies_and_signs_nothing(secrets, first, ada):
    access = str(tokens.issue(ada)[0])
    secrets(NEW)

    assert me(access) == 200
    assert signing_keys.unreadable() == [first.kid]
    assert API().get("/health").json()["keys"] == "missing"
    answer = API().post("/auth/login", {"email": ada.email, "password": "correct horse battery"})
    assert (answer.status_code, answer.json()) == (503, {"error": "service unavailable"})
    with pytest.raises(SystemExit, match="SECRET_KEY decrypts no signing key"):
        cache.prepare()


def test_key_is_loaded_once(first, monkeypatch):
    signing_keys.refresh()
    monkeypatch.delattr(cache.Key, "load")

    signing_keys.refresh()

    assert list(signing_keys.current()) == [first.kid]
