"""The claims of access and refresh tokens, and which tokens are refused."""

import base64
import hmac
import json
import time

import jwt
import pytest
import time_machine
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from accounts import tokens
from keys.cache import signing_keys
from tests.clients import API, signing_key

pytestmark = pytest.mark.django_db
ISSUER = "consulting-management"


def claims_of(user, **changes):
    access, _ = tokens.issue_pair(user)
    return access.payload | {"iss": ISSUER} | changes


def sign(claims, **header):
    key = signing_key()
    return jwt.encode(claims, key.private, "RS256", headers={"kid": key.kid} | header)


def is_accepted(encoded):
    answer = API(authorization=f"Bearer {encoded}").get("/auth/me")
    return {200: True, 401: False}[answer.status_code]


def test_token_of_a_host_whose_clock_is_two_days_ahead_is_refused(ada):
    ahead = int(time.time()) + 172_800
    assert not is_accepted(sign(claims_of(ada, iat=ahead, auth_time=ahead, exp=ahead + 3600)))


def test_claims_and_kids_of_access_and_refresh_tokens(ada):
    access, refresh = tokens.issue_pair(ada)

    claims = jwt.decode(str(access), options={"verify_signature": False})
    expected = {"iss", "sub", "account_id", "role", "token_type", "iat", "exp", "jti"}
    assert set(claims) == expected | {"auth_time", "token_version", "amr"}
    assert claims["exp"] - claims["iat"] == 3600
    assert refresh["exp"] - refresh["iat"] == 86400
    kid = signing_key().kid
    headers = [jwt.get_unverified_header(str(token)) for token in (access, refresh)]
    assert [header["kid"] for header in headers] == [kid, f"refresh-{kid}"]
    claims = jwt.decode(str(refresh), options={"verify_signature": False})
    assert claims["aud"] == "consulting-management/auth/refresh"


def test_no_private_part_of_a_key_is_published(api, db):
    for key in api.get("/.well-known/jwks.json").json()["keys"]:
        assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}


@pytest.mark.parametrize(
    ("algorithm", "key", "header"),
    [("none", None, {}), ("RS256", "another", {}), ("RS256", "own", {"kid": "unknown"}),
     ("RS256", "own", {"kid": ""}), ("RS256", "own", {"kid": None})],
)  # fmt: skip
def test_token_of_another_algorithm_key_or_kid_is_refused(ada, algorithm, key, header):
    another = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    keys = {None: None, "another": another, "own": signing_key().private}
    headers = {"kid": signing_key().kid} | header
    headers = {name: value for name, value in headers.items() if value is not None}

    assert not is_accepted(jwt.encode(claims_of(ada), keys[key], algorithm, headers=headers))


def test_refresh_token_is_no_access_token(ada):
    assert not is_accepted(str(tokens.issue_pair(ada)[1]))


def test_hs256_with_the_public_key_is_refused(ada):
    key = signing_key()
    pem = key.public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    body = part({"alg": "HS256", "typ": "JWT", "kid": key.kid}) + b"." + part(claims_of(ada))
    mac = base64.urlsafe_b64encode(hmac.digest(pem, body, "sha256")).rstrip(b"=")

    assert not is_accepted(f"{body.decode()}.{mac.decode()}")


def respelled(encoded):
    """Other texts that a lenient verifier takes for the same token."""
    head, payload, signature = encoded.split(".")
    last = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    changed = [signature[:-1] + letter for letter in last if letter != signature[-1]]
    return [
        *(f"{head}.{payload}.{text}" for text in changed),
        f"{head}.{payload}.{signature}==",
        f"{head}.{payload}.{signature[:50]}%{signature[50:]}",
        f"{head}.{payload}=.{signature}",
        f"{head}..{payload}.{signature}",
        f"{head}.{payload}.{signature}.",
        f".{head}.{payload}.{signature}",
    ]


def test_token_in_another_spelling_is_refused(ada):
    encoded = str(tokens.issue_pair(ada)[0])
    assert is_accepted(encoded)

    for text in respelled(encoded):
        assert not is_accepted(text), text


@pytest.mark.parametrize("header", [{"crit": ["b64"], "b64": False}, {"alg": "rs256"}])
def test_signed_but_odd_header_is_refused(ada, header):
    key = signing_key()
    members = {"alg": "RS256", "typ": "JWT", "kid": key.kid} | header
    parts = [json.dumps(part).encode() for part in (members, claims_of(ada))]
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = key.private.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    encoded = signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")

    assert not is_accepted(encoded.decode())


def pyjwt(token, jwks):
    key = jwt.PyJWKSet.from_dict(jwks)[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, ["RS256"], issuer=ISSUER)


def pyjwt_with_one_key(token, jwks):
    """Verify like a lenient verifier, which tries every key regardless of the kid."""
    return jwt.decode(token, jwt.PyJWK(jwks["keys"][0]), ["RS256"], issuer=ISSUER)


@pytest.mark.parametrize("verify", [pyjwt, pyjwt_with_one_key])
def test_refresh_token_is_refused_by_other_verifiers(api, ada, verify):
    jwks = api.get("/.well-known/jwks.json").json()
    access, refresh = map(str, tokens.issue_pair(ada))
    assert verify(access, jwks)["sub"] == str(ada.pk)

    with pytest.raises((jwt.PyJWTError, KeyError)):
        verify(refresh, jwks)


@pytest.mark.parametrize(
    "changes",
    [{"iss": "somebody-else"}, {"exp": 1}, {"exp": "soon"}, {"exp": 2**70}, {"exp": 2e9 + 0.5},
     {"iat": "0"}, {"iat": 2e9 + 0.5}, {"iat": -1}, {"sub": "not-a-uuid"}, {"sub": 7}, {"jti": 7},
     {"aud": "consulting-management"}, {"aud": ""}, {"aud": []}, {"aud": None}, {"nbf": 1},
     {"token_type": "refresh"}, {"token_version": "1"}, {"token_version": True},
     {"token_version": 2**70}, {"token_version": -1}, {"auth_time": None}, {"auth_time": 1},
     {"amr": "pwd"}, {"amr": ["pwd", 1]}, {"iss": ...}, {"sub": ...}, {"exp": ...}, {"iat": ...},
     {"jti": ...}, {"auth_time": ...}, {"token_version": ...}],
)  # fmt: skip
def test_signed_but_odd_or_missing_claims_are_refused(ada, changes):
    claims = claims_of(ada, **changes)
    assert not is_accepted(sign({name: value for name, value in claims.items() if value != ...}))


@pytest.mark.parametrize(("age", "accepted"), [(3604, True), (3606, False)])
def test_token_expires_after_the_leeway(ada, age, accepted):
    issued = 1_900_000_000
    with time_machine.travel(issued, tick=False):
        encoded = str(tokens.issue_pair(ada)[0])
    with time_machine.travel(issued + age, tick=False):
        assert is_accepted(encoded) is accepted


@pytest.mark.parametrize("ahead", [40, 3600])
def test_token_of_a_host_whose_clock_is_ahead_is_valid(ada, api, ahead):
    now = 1_900_000_000
    with time_machine.travel(now + ahead, tick=False):
        access, refresh = map(str, tokens.issue_pair(ada))
    with time_machine.travel(now, tick=False):
        assert is_accepted(access)
        assert api.post("/auth/refresh", {"refresh_token": refresh}).status_code == 200

    with time_machine.travel(now + ahead + 3606, tick=False):
        assert not is_accepted(access)


def test_verified_token_still_expires(ada):
    encoded = str(tokens.issue_pair(ada)[0])
    assert is_accepted(encoded)

    with time_machine.travel(time.time() + 3606, tick=False):
        assert not is_accepted(encoded)


def test_verified_token_ends_with_its_key(ada, monkeypatch):
    encoded = str(tokens.issue_pair(ada)[0])
    assert is_accepted(encoded)

    monkeypatch.setattr(signing_keys, "keys", {"another": signing_key()})

    assert not is_accepted(encoded)


def test_changed_claims_do_not_reach_the_cache(ada):
    encoded = str(tokens.issue_pair(ada)[0])
    tokens.AccessToken(encoded)["role"] = "king"

    assert tokens.AccessToken(encoded)["role"] == "admin"
