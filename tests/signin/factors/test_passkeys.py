"""POST /auth/passkeys/options and /auth/passkeys/login, and passkeys beside a password."""

import pytest
import time_machine

from accounts.models import User
from audit.models import AuditEvent, Kind
from base.nonces import UsedNonce
from signin.factors.models import Factors, Passkey
from signin.factors.passkeys import CHALLENGE_SECONDS, new_challenge
from tests.clients import API, bearer
from tests.signin.factors.authenticator import BE, BS, UP, UV, Authenticator, b64
from tests.signin.factors.helpers import (
    PASSWORD_FIELD,
    amr_of,
    begin_passkey,
    challenge,
    code,
    log_in,
    with_app,
    with_passkey,
)
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db

WRONG = (401, {"error": "wrong passkey"})


def by_passkey(api, credential):
    answer = api.post("/auth/passkeys/login", {"credential": credential})
    return answer.status_code, answer.json()


def test_passkey_options_are_the_same_for_every_caller_and_store_nothing(
    api, key, django_assert_num_queries
):
    with django_assert_num_queries(0):
        first, second = challenge(api)["publicKey"], challenge(api)["publicKey"]

    assert first.pop("challenge") != second.pop("challenge")
    expected = {"rpId": "localhost", "timeout": 300000, "userVerification": "required"}
    assert first == second == expected


def test_passkey_options_count_as_public_calls(api, settings):
    """Each log-in page asks for them: an office's credential calls are for its log-ins."""
    settings.RATE_LIMIT_CREDENTIAL, settings.RATE_LIMIT_PUBLIC = 1, 2
    answers = [api.post("/auth/passkeys/options", {}) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["error"] == "rate_limited"


def test_passkey_signs_in_by_itself(api, ada, key):
    status, body = by_passkey(api, key.sign(challenge(api)))

    assert (status, body["user"]["id"]) == (200, str(ada.pk))
    assert amr_of(body) == [["pop", "user", "mfa"]] * 2
    assert api.cookies["service_refresh"].value == body["refresh_token"]
    assert Passkey.objects.get().last_used_at is not None


def forged(**falsified):
    """An answer by an authenticator with these attributes."""

    def make(api, key):
        vars(key).update(falsified)
        return key.sign(challenge(api))

    return make


def deep_json(api, key):
    answer = key.sign(challenge(api))
    return answer | {"response": answer["response"] | {"clientDataJSON": b64(b"[" * 20_000)}}


def challenge_to_add(api, key):
    to_add = new_challenge(f"add to {User.objects.get(email='ada@example.com').pk}")
    return key.sign({"publicKey": {"challenge": b64(to_add)}})


def bad_signature(api, key):
    first, second = key.sign(challenge(api)), key.sign(challenge(api))
    return first | {"response": first["response"] | {"signature": second["response"]["signature"]}}


FORGERIES = {
    "no user verification": forged(flags=UP),
    "backed up, but not eligible for it": forged(flags=UP | UV | BS),
    "a subdomain": forged(origin="http://x.localhost:8000"),
    "in a foreign frame": forged(client={"crossOrigin": True}),
    "somebody else's handle": forged(handle=bytes(16)),
    "no handle": forged(handle=b""),
    "unknown credential": forged(credential_id=b"x" * 32),
    "no challenge of ours": lambda api, key: key.sign({"publicKey": {"challenge": b64(bytes(72))}}),
    "challenge to add with": challenge_to_add,
    "bad signature": bad_signature,
    "deep JSON": deep_json,
    "empty": lambda api, key: {},
    "long id": lambda api, key: key.sign(challenge(api)) | {"id": "x" * 9000, "rawId": "x" * 9000},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_passkey_is_refused_and_uses_up_no_challenge(api, key, name):
    used = UsedNonce.objects.count()

    assert by_passkey(api, FORGERIES[name](api, key)) == WRONG
    assert UsedNonce.objects.count() == used
    assert not AuditEvent.objects.filter(kind=Kind.LOGIN_SUCCEEDED).exists()


@pytest.mark.parametrize("flags", [BE, BE | BS])
def test_synced_passkey_signs_in(api, ada, flags):
    key = Authenticator()
    key.flags = UP | UV | flags
    answer = bearer(ada).post("/auth/factors/passkeys", begin_passkey(bearer(ada), key=key))

    assert answer.status_code == 201
    assert by_passkey(api, key.sign(challenge(api)))[0] == 200


def test_padded_base64_is_read_like_unpadded(api, key):
    credential = key.sign(challenge(api))
    parts = credential["response"]
    padded = {name: text + "=" * (-len(text) % 4) for name, text in parts.items()}

    assert padded != parts
    assert by_passkey(api, credential | {"response": padded})[0] == 200


def test_sign_out_during_a_passkey_log_in_ends_that_session_too(api, ada, key, monkeypatch):
    def use_then_sign_out(passkey, counter):
        use(passkey, counter)
        ada.sign_out(ada)

    use = Passkey.use
    monkeypatch.setattr(Passkey, "use", use_then_sign_out)
    assert by_passkey(api, key.sign(challenge(api))) == WRONG


def test_parallel_challenges_are_all_valid(api, key):
    """Two tabs: a later challenge takes no earlier one's place."""
    first, second = challenge(api), challenge(api)

    assert by_passkey(api, key.sign(second))[0] == 200
    assert by_passkey(API(), key.sign(first))[0] == 200


@pytest.mark.parametrize(
    ("seconds", "status"),
    [
        (CHALLENGE_SECONDS - 2, 200),
        (CHALLENGE_SECONDS + 1, 401),
        (-5, 200),
        (-CHALLENGE_SECONDS - 1, 401),
    ],  # hosts' clocks differ
)
def test_challenge_is_valid_for_five_minutes(api, key, seconds, status):
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        options = challenge(api)
        clock.shift(seconds)

        assert by_passkey(api, key.sign(options))[0] == status


def test_passkey_outlives_a_lost_secret(api, key, settings):
    settings.SECRET_KEY = "a newer secret, of 32 characters or more"

    assert by_passkey(api, key.sign(challenge(api)))[0] == 200


def test_used_challenges_are_pruned(api, key):
    by_passkey(api, key.sign(challenge(api)))
    assert UsedNonce.objects.prune_expired() == 0

    UsedNonce.objects.update(used_at="2026-01-01T00:00:00Z")

    assert UsedNonce.objects.prune_expired() == 2  # one was to add the passkey


def test_inactive_owner_cannot_use_a_passkey(api, ada, key):
    User.objects.filter(pk=ada.pk).update(is_active=False)

    assert by_passkey(api, key.sign(challenge(api))) == WRONG


@pytest.mark.parametrize(("counts", "is_recorded"), [((0, 0), False), ((7, 3), True)])
def test_passkey_whose_count_falls_is_recorded_and_accepted(api, key, counts, is_recorded):
    """The count of a synced passkey stays zero."""
    for key.count in counts:
        assert by_passkey(api, key.sign(challenge(api)))[0] == 200

    events = AuditEvent.objects.filter(kind=Kind.PASSKEY_COUNT_FELL, subject="ada@example.com")
    assert (events.exists(), Passkey.objects.get().sign_count) == (is_recorded, counts[1])


def test_passkey_signs_in_while_the_address_is_locked(api, ada, key):
    fail(5, ada.email)

    assert by_passkey(api, key.sign(challenge(api)))[0] == 200
    assert log_in(api, ada)[0] == 429  # the strangers' lock goes on


def test_wrong_passkey_locks_no_address(api, ada, key):
    for _ in range(6):
        by_passkey(api, bad_signature(api, key))

    assert log_in(api, ada, passkey=key.sign(challenge(api)))[0] == 200


def test_passkey_beside_the_password_signs_in(api, ada, key):
    assert log_in(api, ada) == (
        401,
        {"error": "second factor required", "methods": ["passkey", "recovery_code"]},
    )

    status, body = log_in(api, ada, passkey=key.sign(challenge(api)))

    assert (status, amr_of(body)) == (200, [["pwd", "pop", "mfa"]] * 2)


@pytest.mark.parametrize("handle", [None, ""])
def test_passkey_beside_the_password_needs_no_handle(api, ada, key, handle):
    answer = key.sign(challenge(api))
    answer["response"]["userHandle"] = handle

    assert log_in(api, ada, passkey=answer)[0] == 200


@pytest.mark.parametrize("only_the_handle", [False, True])
def test_passkey_of_another_user_is_a_wrong_code(api, ada, bob, key, only_the_handle):
    bobs_key = with_passkey(bob)
    if only_the_handle:
        key.handle, bobs_key = bobs_key.handle, key

    answer = log_in(api, ada, passkey=bobs_key.sign(challenge(api)))

    assert answer == (401, {"error": "wrong code", "cause": "wrong_passkey"})
    assert Factors.objects.get(user=ada).wrong_codes == 1


def test_passkey_lets_the_apps_codes_work_again(api, ada):
    with_app(ada)
    key = Authenticator()
    as_ada = bearer(ada)
    as_ada.post(
        "/auth/factors/passkeys", begin_passkey(as_ada, PASSWORD_FIELD | {"code": code()}, key)
    )
    Factors.objects.update(wrong_codes=100)

    assert log_in(api, ada, code=code(1))[1]["error"] == "wrong code"
    assert by_passkey(api, key.sign(challenge(api)))[0] == 200
    assert log_in(api, ada, code=code(1))[0] == 200


@pytest.mark.parametrize(
    "path", ["passkeys/options", "passkeys/login", "factors/passkeys/options", "factors/passkeys"]
)
def test_without_a_domain_there_are_no_passkeys(as_ada, settings, path):
    settings.PASSKEYS_RP_ID = ""

    assert as_ada.post(f"/auth/{path}", {}).status_code == 404
