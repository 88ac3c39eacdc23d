"""The calls by which users list and change their own second factors."""

import re
from functools import partial

import pytest
import time_machine
from django.core import mail
from prometheus_client import REGISTRY

from accounts.models import User
from audit.models import AuditEvent, Kind
from keys.cache import signing_keys
from mail.outbox import OutgoingMail
from signin import credentials
from signin.factors import totp
from signin.factors.models import Factors, Passkey, RecoveryCode
from tests.clients import API, bearer
from tests.mailbox import mailed
from tests.signin.factors.authenticator import BS, UP, UV, Authenticator, b64
from tests.signin.factors.helpers import (
    PASSWORD_FIELD,
    SECRET,
    amr_of,
    begin_app,
    begin_passkey,
    challenge,
    code,
    log_in,
    with_app,
    with_passkey,
    wrong_code,
)

pytestmark = pytest.mark.django_db

SIGNED_OUT = "You've been signed out on all other devices."
CODES = re.compile(r"(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}")


def proof_of(key):
    """What re-authenticates a user with this passkey."""
    return PASSWORD_FIELD | {"passkey": key.sign(challenge(API()))}


def test_app_is_added_by_its_first_code(as_ada, ada):
    _, body = begin_app(as_ada)
    assert as_ada.get("/auth/factors").json()["items"] == []
    assert as_ada.post("/auth/recovery-codes", PASSWORD_FIELD).status_code == 409

    answer = as_ada.post("/auth/factors/totp/confirm", body | {"name": "Ada's telephone"})

    body = answer.json()
    as_ada = API(authorization=f"Bearer {body['session']['access_token']}")
    assert answer.status_code == 200
    assert (body["factor"]["kind"], body["factor"]["name"]) == ("totp", "Ada's telephone")
    assert len(set(body["recovery_codes"])) == 10
    assert all(CODES.fullmatch(text) for text in body["recovery_codes"])
    assert as_ada.get("/auth/factors").json() == {
        "items": [body["factor"]],
        "recovery_codes_left": 10,
        "required": False,
    }


def test_first_factor_ends_the_sessions_that_were_begun_without_one(as_ada, ada, api):
    other_session = bearer(ada)
    log_in(api, ada)
    _, body = begin_app(as_ada)

    sign_ins = partial(REGISTRY.get_sample_value, "sign_ins_total", {"method": "totp"})
    before = sign_ins()

    session = as_ada.post("/auth/factors/totp/confirm", body).json()["session"]

    assert sign_ins() == before  # it is no sign-in
    assert amr_of(session) == [["pwd", "otp", "mfa"]] * 2
    assert [client.get("/auth/me").status_code for client in (as_ada, other_session)] == [401, 401]
    assert api.post("/auth/refresh").status_code == 401
    assert as_ada.post("/auth/refresh").status_code == 200  # by the cookie of the new session


def test_first_factor_is_not_stored_while_no_key_can_sign_the_new_session(as_ada, monkeypatch):
    _, body = begin_app(as_ada)
    monkeypatch.setattr(signing_keys, "signer", None)

    assert as_ada.post("/auth/factors/totp/confirm", body).status_code == 503

    assert as_ada.get("/auth/factors").json()["items"] == []


def test_second_factor_ends_no_session(as_ada, ada, key):
    _, body = begin_app(as_ada, proof_of(key))

    answer = as_ada.post("/auth/factors/totp/confirm", body)

    assert (answer.status_code, answer.json()["session"]) == (200, None)
    assert as_ada.get("/auth/me").status_code == 200
    assert SIGNED_OUT not in mailed().body


def test_code_that_confirmed_an_app_is_used_up(as_ada, api, ada):
    secret, body = begin_app(as_ada)
    as_ada.post("/auth/factors/totp/confirm", body)

    assert log_in(api, ada, code=body["code"])[1]["cause"] == "used_code"
    assert log_in(api, ada, code=code(1, secret))[0] == 200


@pytest.mark.parametrize("kind", ["wrong", "old"])
def test_wrong_code_confirms_no_app_and_blocks_no_log_in(as_ada, api, ada, kind):
    secret, body = begin_app(as_ada)
    refused_code = {"wrong": "000000", "old": code(-5, secret)}[kind]

    answer = as_ada.post("/auth/factors/totp/confirm", body | {"code": refused_code})

    assert (answer.status_code, answer.json()["error"]) == (403, "wrong code")
    assert log_in(api, ada)[0] == 200  # a half-made app stands in nobody's way


def test_unconfirmed_app_is_forgotten_after_ten_minutes(as_ada):
    with time_machine.travel(1_900_000_000, tick=False) as clock:
        as_ada = bearer(User.objects.get())
        secret, body = begin_app(as_ada)
        clock.shift(601)
        body |= {"code": code(0, secret)}

        assert as_ada.post("/auth/factors/totp/confirm", body).status_code == 404


def test_user_cannot_confirm_the_app_of_another(as_ada, as_bob):
    _, body = begin_app(as_ada)

    assert as_bob.post("/auth/factors/totp/confirm", body).status_code == 404
    assert as_bob.post("/auth/factors/totp/confirm", body | {"id": "x"}).status_code == 404


def test_second_app_can_be_neither_begun_nor_confirmed(as_ada, ada, key, api):
    _, body = begin_app(as_ada, proof_of(key))
    Factors.objects.get().add_totp(SECRET, 0, "")

    assert as_ada.post("/auth/factors/totp", PASSWORD_FIELD | {"code": code()}).status_code == 409
    assert as_ada.post("/auth/factors/totp/confirm", body).status_code == 409


def test_wrong_code_that_is_counted_while_an_app_is_added_stays_counted(ada):
    with_passkey(ada)
    factors = Factors.objects.get()
    Factors.objects.update(wrong_codes=3)

    factors.add_totp(SECRET, 0, "")

    assert Factors.objects.get().wrong_codes == 3


def test_additions_begun_by_password_alone_end_with_the_first_factor(as_ada, ada):
    """In the session that the first factor begins, too."""
    other_session = bearer(ada)
    _, app = begin_app(other_session)
    passkey = begin_passkey(other_session)
    as_ada.post("/auth/factors/totp/confirm", begin_app(as_ada)[1])
    again = bearer(ada)
    Factors.objects.update(totp_id=None)  # or the answer would be that there are too many

    assert again.post("/auth/factors/totp/confirm", app).status_code == 404
    passkey = again.post("/auth/factors/passkeys", passkey)
    assert (passkey.status_code, passkey.json()) == (403, {"error": "wrong passkey"})
    assert not Passkey.objects.exists()


def test_passkey_is_added(as_ada, ada):
    key = Authenticator()
    options = as_ada.post("/auth/factors/passkeys/options", PASSWORD_FIELD).json()
    body = {"credential": key.register(options), "name": "Key"}

    answer = as_ada.post("/auth/factors/passkeys", body)

    added = answer.json()
    assert answer.status_code == 201
    assert (added["factor"]["kind"], added["factor"]["name"]) == ("passkey", "Key")
    assert len(added["recovery_codes"]) == 10
    assert amr_of(added["session"]) == [["pwd", "pop", "mfa"]] * 2
    public_key = options["publicKey"]
    assert public_key["attestation"] == "none"
    assert public_key["authenticatorSelection"] == {
        "requireResidentKey": True,
        "residentKey": "required",
        "userVerification": "required",
    }
    assert public_key["user"]["id"] != b64(ada.pk.bytes)
    assert len(key.handle) == 16


def test_second_passkey_has_the_same_handle_and_excludes_the_first(as_ada, key, api):

    options = as_ada.post("/auth/factors/passkeys/options", proof_of(key)).json()["publicKey"]

    assert options["user"]["id"] == b64(key.handle)
    assert [item["id"] for item in options["excludeCredentials"]] == [b64(key.credential_id)]


@pytest.mark.parametrize(
    "falsified",
    [{"flags": UP}, {"flags": UP | UV | BS}, {"origin": "https://evil.example"},
     {"algorithm": -65535},
     {"client": {"crossOrigin": True}}, {"client": {"challenge": b64(bytes(72))}}],
)  # fmt: skip
def test_false_passkey_is_not_added(as_ada, falsified):
    key = Authenticator()
    vars(key).update(falsified)

    answer = as_ada.post("/auth/factors/passkeys", begin_passkey(as_ada, key=key))

    assert (answer.status_code, answer.json()) == (403, {"error": "wrong passkey"})
    assert not Passkey.objects.exists()


def test_passkey_id_has_1023_bytes_at_most(as_ada):
    answers = {}
    for length in (1024, 1051, 1023):
        key = Authenticator()
        key.credential_id = bytes(length)
        answer = as_ada.post("/auth/factors/passkeys", begin_passkey(as_ada, key=key))
        answers[length] = answer.status_code

    assert answers == {1024: 403, 1051: 403, 1023: 201}


def test_passkey_for_another_user_or_for_a_sign_in_challenge_is_not_added(as_ada, as_bob, api):
    options = as_ada.post("/auth/factors/passkeys/options", PASSWORD_FIELD).json()
    theirs = {"credential": Authenticator().register(options)}
    options["publicKey"]["challenge"] = challenge(api)["publicKey"]["challenge"]
    to_sign_in = {"credential": Authenticator().register(options)}

    assert as_bob.post("/auth/factors/passkeys", theirs).status_code == 403
    assert as_ada.post("/auth/factors/passkeys", to_sign_in).status_code == 403


def test_passkey_of_another_user_is_not_added(as_ada, as_bob, key):
    assert as_bob.post("/auth/factors/passkeys", begin_passkey(as_bob, key=key)).status_code == 403
    assert not User.objects.get(email="bob@example.com").has_second_factor


def test_user_has_ten_passkeys_at_most(as_ada, ada, key, api):
    factors = Factors.objects.get()
    for n in range(9):
        factors.add_passkey(credential_id=f"k{n}", credential=b"", handle=b"")
    Passkey.objects.filter(credential=b"").update(credential=Passkey.objects.first().credential)

    answer = as_ada.post("/auth/factors/passkeys", begin_passkey(as_ada, proof_of(key)))

    assert (answer.status_code, answer.json()) == (409, {"error": "too many factors"})


MANAGING = ["factors/totp", "factors/passkeys/options", "recovery-codes"]


def calls(ada):
    factor = Factors.objects.get(user=ada).app_and_passkeys()[0].id
    return [f"/auth/{call}" for call in [*MANAGING, f"factors/{factor}/remove"]]


def test_managing_factors_takes_password_and_factor(as_ada, ada, codes):
    factor_required = {"error": "second factor required", "methods": ["totp", "recovery_code"]}
    for path in calls(ada):
        alone = as_ada.post(path, PASSWORD_FIELD)
        wrong = as_ada.post(path, {"password": "wrong password", "code": code()})
        missing = as_ada.post(path, {"code": code()})

        assert (alone.status_code, alone.json()) == (403, factor_required), path
        assert (wrong.status_code, wrong.json()) == (403, {"error": "wrong password"}), path
        assert missing.status_code == 400, path
    assert "WWW-Authenticate" not in alone.headers


def test_wrong_code_in_re_authentication_is_a_failed_attempt(as_ada, ada, codes):
    for path in calls(ada):
        answer = as_ada.post(path, PASSWORD_FIELD | {"code": wrong_code()})
        assert (answer.status_code, answer.json()["error"]) == (403, "wrong code")
    as_ada.post(path, PASSWORD_FIELD | {"code": wrong_code()})

    assert as_ada.post(path, PASSWORD_FIELD | {"code": code()}).status_code == 429


def test_removing_the_last_factor_removes_the_recovery_codes(as_ada, api, ada, codes):
    factor = as_ada.get("/auth/factors").json()["items"][0]["id"]

    answer = as_ada.post(f"/auth/factors/{factor}/remove", PASSWORD_FIELD | {"code": code()})

    assert answer.status_code == 204
    assert as_ada.get("/auth/factors").json()["recovery_codes_left"] == 0
    assert not RecoveryCode.objects.exists()
    assert not User.objects.get(pk=ada.pk).has_second_factor
    assert log_in(api, ada)[0] == 200


def test_removing_one_of_two_factors_leaves_the_other(as_ada, ada, key):
    Factors.objects.get().add_totp(totp.secrets.token_bytes(20), 0, "")
    items = as_ada.get("/auth/factors").json()["items"]
    app = next(item["id"] for item in items if item["kind"] == "totp")

    assert as_ada.post(f"/auth/factors/{app}/remove", proof_of(key)).status_code == 204
    remaining = as_ada.get("/auth/factors").json()
    assert [item["kind"] for item in remaining["items"]] == ["passkey"]
    assert remaining["recovery_codes_left"] == 10


def test_session_that_ends_during_re_authentication_removes_no_factor(
    as_ada, ada, codes, monkeypatch
):
    def check(*args, **options):
        ada.sign_out(ada)
        return real(*args, **options)

    real = credentials.check_credentials
    monkeypatch.setattr("signin.reauthentication.check_credentials", check)
    factor = Factors.objects.get().totp_id
    answer = as_ada.post(f"/auth/factors/{factor}/remove", PASSWORD_FIELD | {"code": codes[0]})

    assert answer.status_code == 401
    assert Factors.objects.get().totp_id == factor


def test_user_cannot_change_factors_of_another(as_bob, ada, codes):
    factor = Factors.objects.get(user=ada).totp_id

    assert as_bob.post(f"/auth/factors/{factor}/remove", PASSWORD_FIELD).status_code == 404
    assert as_bob.patch(f"/auth/factors/{factor}", {"name": "x"}).status_code == 404
    with_app(User.objects.get(email="bob@example.com"))
    assert as_bob.patch(f"/auth/factors/{factor}", {"name": "x"}).status_code == 404


def test_factor_is_renamed_and_recorded_once(as_ada, ada, codes):
    factor = as_ada.get("/auth/factors").json()["items"][0]["id"]

    for _ in range(2):  # what changes nothing is not recorded
        answer = as_ada.patch(f"/auth/factors/{factor}", {"name": "Old telephone"})

    assert (answer.status_code, answer.json()["name"]) == (200, "Old telephone")
    record = AuditEvent.objects.get(kind=Kind.FACTOR_RENAMED)
    assert (record.actor_id, record.subject) == (ada.pk, ada.email)
    assert as_ada.patch(f"/auth/factors/{factor}", {"name": "www.evil.example"}).status_code == 400


def test_new_recovery_codes_replace_the_old_ones_and_the_user_is_mailed(as_ada, api, ada, codes):
    answer = as_ada.post("/auth/recovery-codes", PASSWORD_FIELD | {"code": codes[0]})

    new_codes, message = answer.json()["recovery_codes"], mailed()
    assert (answer.status_code, len(new_codes)) == (201, 10)
    assert (message.to, message.subject) == ([ada.email], "New recovery codes created")
    for kind in (Kind.RECOVERY_CODES_MADE, Kind.RECOVERY_CODE_USED):
        record = AuditEvent.objects.get(kind=kind)
        assert (record.actor_id, record.subject) == (ada.pk, ada.email)
    assert log_in(api, ada, code=codes[1])[1]["error"] == "wrong code"
    assert log_in(api, ada, code=new_codes[0])[0] == 200


def test_added_and_removed_factors_are_mailed_and_recorded(as_ada, ada):
    key = with_passkey(ada)
    added = mailed()
    factor = as_ada.get("/auth/factors").json()["items"][0]["id"]
    as_ada.post(f"/auth/factors/{factor}/remove", proof_of(key))
    removed = mailed()

    kinds = AuditEvent.objects.values_list("kind", flat=True)
    assert {Kind.FACTOR_ADDED, Kind.FACTOR_REMOVED} <= set(kinds)
    assert added.to == removed.to == ["ada@example.com"]
    assert "passkey" in added.subject.lower()
    assert added.subject != removed.subject
    assert SIGNED_OUT in added.body
    assert "127.0.0.1" in added.body.replace("\u2060", "")


def test_used_recovery_code_is_mailed_with_the_number_left(api, ada, codes):
    log_in(api, ada, code=codes[0])
    assert "You have 9 codes left" in mailed().body
    assert "run out" not in mailed().body
    for recovery_code in codes[1:7]:
        log_in(api, ada, code=recovery_code)

    assert "You have 3 codes left" in mailed().body
    assert "before you run out" in mailed().body


def test_user_is_warned_of_wrong_codes_once_a_day(api, ada, codes, settings):
    settings.LOCKOUT_THRESHOLD = 100
    for _ in range(2):
        log_in(api, ada, code=wrong_code())
    warnings = OutgoingMail.objects.filter(kind="notice.wrong_codes")
    assert not warnings.exists()
    for _ in range(4):
        log_in(api, ada, code=wrong_code())
    assert warnings.count() == 1
    mailed()
    assert "Someone may know your password" in [message.subject for message in mail.outbox]

    Factors.objects.update(warned_at="2026-01-01T00:00:00Z")
    log_in(api, ada, code=wrong_code())

    assert warnings.count() == 2


def test_removed_factor_leaves_the_tokens_at_the_next_refresh(as_ada, api, ada, codes):
    log_in(api, ada, code=code())
    factor = Factors.objects.get().totp_id
    removed = as_ada.post(f"/auth/factors/{factor}/remove", PASSWORD_FIELD | {"code": codes[0]})
    assert removed.status_code == 204

    assert amr_of(api.post("/auth/refresh").json()) == [["pwd"], ["pwd"]]


@pytest.mark.parametrize("has_app", [False, True])
def test_sign_in_by_a_passkey_that_was_removed_since_is_not_refreshed(as_ada, api, key, has_app):
    if has_app:
        Factors.objects.get().add_totp(SECRET, 0, "")
    api.post("/auth/passkeys/login", {"credential": key.sign(challenge(api))})
    factor = Passkey.objects.get().pk
    assert as_ada.post(f"/auth/factors/{factor}/remove", proof_of(key)).status_code == 204

    assert api.post("/auth/refresh").status_code == 401


def test_uri_of_an_app_spells_spaces_as_apps_read_them(new_user):
    uri = (
        bearer(new_user("a+b@example.com")).post("/auth/factors/totp", PASSWORD_FIELD).json()["uri"]
    )

    assert uri.startswith("otpauth://totp/Consulting%20management:a%2Bb%40example.com?")
    assert "issuer=Consulting%20management" in uri
    assert "+" not in uri
