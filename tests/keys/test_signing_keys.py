"""The signing keys of one process: which one signs, which verify, and for how long."""

import jwt
import pytest
from django.db import OperationalError
from django.test import override_settings

from accounts import tokens
from audit.models import AuditEvent
from keys import cache
from keys.cache import signing_keys
from keys.models import SigningKey
from tests.clients import API
from tests.keys.conftest import grow_older, look, me, published
from tests.races import race

pytestmark = pytest.mark.django_db
OLD, NEW = "the preceding secret of the service", "the secret of the service from now on"


def signed_by(token):
    return jwt.get_unverified_header(str(token))["kid"]


def test_new_key_is_published_at_once_and_signs_after_the_delay(first, ada):
    new = SigningKey.objects.publish(600)
    look()
    access = str(tokens.issue_pair(ada)[0])
    assert published() == [first.kid, new.kid]
    assert signed_by(access) == first.kid

    grow_older(seconds=601)

    assert signed_by(tokens.issue_pair(ada)[0]) == new.kid
    assert me(access) == 200
    assert AuditEvent.objects.filter(kind="key.published", subject=new.kid).count() == 1


def test_key_goes_when_its_last_token_has_expired(first, settings):
    SigningKey.objects.publish(600)
    life = settings.REFRESH_TOKEN_SECONDS + 2 * settings.JWT_LEEWAY_SECONDS
    grow_older(seconds=600 + life)
    assert SigningKey.objects.prune_expired() == 0
    grow_older(seconds=3)

    assert SigningKey.objects.prune_expired() == 1
    assert not SigningKey.objects.filter(kid=first.kid).exists()


def test_withdrawn_key_is_refused_and_published_no_more(first, ada, api):
    access, refresh = map(str, tokens.issue_pair(ada))
    assert me(access) == 200
    assert api.post("/auth/refresh", {"refresh_token": refresh}).status_code == 200
    new = SigningKey.objects.publish(0)
    SigningKey.objects.withdraw(first.kid)
    look()

    assert me(access) == 401
    assert api.post("/auth/refresh", {"refresh_token": refresh}).status_code == 401
    assert published() == [new.kid]
    assert AuditEvent.objects.filter(kind="key.removed", subject=first.kid).count() == 1


def test_key_that_follows_a_withdrawn_one_signs_before_its_time(first, ada):
    new = SigningKey.objects.publish(600)
    SigningKey.objects.withdraw(first.kid)
    look()

    assert signed_by(tokens.issue_pair(ada)[0]) == new.kid


def test_key_stays_while_its_successor_signs_nothing(first, settings):
    """Which was made with another SECRET_KEY, say."""
    with override_settings(SECRET_KEY=OLD):
        SigningKey.objects.publish(0)
    grow_older(days=30)

    assert SigningKey.objects.prune_expired() == 0
    assert signing_keys.signer == first


@pytest.mark.django_db(transaction=True)
def test_hosts_that_start_together_accept_what_each_signs(first, ada):
    SigningKey.objects.all().delete()
    race(*[SigningKey.objects.make_first] * 4)
    signed = []
    for key in SigningKey.objects.all():  # each host signs with its own, until it reads all
        signing_keys.signer = key
        signed.append(str(tokens.issue_pair(ada)[0]))
    look()

    assert [me(access) for access in signed] == [200] * len(signed)
    assert signed


@pytest.mark.django_db(transaction=True)
def test_last_two_keys_withdrawn_together_leave_one_that_signs(first):
    second = SigningKey.objects.publish(0)

    race(*[lambda kid=kid: SigningKey.objects.withdraw(kid) for kid in (first.kid, second.kid)])

    assert SigningKey.objects.count() == 1


def test_made_up_kid_is_refused_without_a_query(first, django_assert_num_queries):
    private = signing_keys.signer.private
    caller = API(authorization="Bearer " + jwt.encode({}, private, "RS256", {"kid": "0" * 43}))

    with django_assert_num_queries(0):
        assert caller.get("/auth/me").status_code == 401


def test_keys_stay_while_the_database_is_unavailable(first, ada, monkeypatch):
    def fail(*args, **values):
        raise OperationalError("unavailable")

    access = str(tokens.issue_pair(ada)[0])
    monkeypatch.setattr(type(SigningKey.objects), "get_queryset", fail)
    with pytest.raises(OperationalError):
        signing_keys.refresh()

    assert me(access) == 200
    answer = API().get("/.well-known/jwks.json")
    assert [key["kid"] for key in answer.json()["keys"]] == [first.kid]
    assert answer["Cache-Control"] == "public, max-age=60"


def test_process_that_has_never_read_the_keys_answers_503(ada):
    signing_keys.__init__()

    assert API().get("/.well-known/jwks.json").status_code == 503


@pytest.fixture
def secrets(settings):
    def change(secret, *fallbacks):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secret, list(fallbacks)
        signing_keys.__init__()
        signing_keys.refresh()

    return change


def test_changed_secret_encrypts_the_keys_anew(secrets, first):
    secrets(OLD)
    SigningKey.objects.withdraw(first.kid)
    row = SigningKey.objects.get()
    signing_keys.refresh()
    assert OLD not in row.private_key
    secrets(NEW, OLD)
    assert signing_keys.signer.kid == row.kid
    cache.prepare_keys()
    secrets(NEW)

    assert signing_keys.signer.kid == row.kid


def test_key_that_cannot_be_decrypted_verifies_and_signs_nothing(secrets, first, ada):
    access = str(tokens.issue_pair(ada)[0])
    secrets(NEW)

    assert me(access) == 200
    assert signing_keys.unreadable_kids() == [first.kid]
    assert API().get("/health").json()["keys"] == "missing"
    answer = API().post("/auth/login", {"email": ada.email, "password": "correct horse battery"})
    assert (answer.status_code, answer.json()) == (503, {"error": "service unavailable"})
    with pytest.raises(SystemExit, match="SECRET_KEY decrypts no signing key"):
        cache.prepare_keys()
