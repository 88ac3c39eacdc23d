"""Invalid ID tokens, keys and answers of a provider: the sign-in ends with an error."""

import json
import time
from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from sso.errors import Refusal
from sso.linking import require_verified_email
from sso.models import IdentityProvider, ProviderMetadata
from sso.openid import Person
from tests.sso.provider import ANSWERS, KINDS, SECRET, encoded, jwk, pem, signed

pytestmark = pytest.mark.django_db
NOW = time.time()


def refused(browser, word="provider", **claims):
    users = User.objects.count()
    claims = {"email": "new@example.com"} | claims
    assert browser.visit(**claims) == {"error": word}
    assert User.objects.count() == users


CLAIMS = {
    "other issuer": {"iss": "https://login.example.org"},
    "no issuer": {"iss": ...},
    "other audience": {"aud": "another client"},
    "no audience": {"aud": ...},
    "empty audience": {"aud": []},
    "two audiences": {"aud": ["client/1", "another client"]},
    "two audiences, other party": {"aud": ["client/1", "another"], "azp": "another"},
    "other party": {"azp": "another client"},
    "parties in a list": {"azp": ["client/1"]},
    "other nonce": {"nonce": "0" * 32},
    "no nonce": {"nonce": ...},
    "nonce in a list": {"nonce": ["0" * 32]},
    "expired": {"exp": int(NOW) - 60},
    "expiry as text": {"exp": "tomorrow"},
    "no expiry": {"exp": ...},
    "of yesterday": {"iat": int(NOW) - 86400},
    "of no time": {"iat": float("inf")},
    "expiry without end": {"exp": float("inf")},
    "of tomorrow": {"iat": int(NOW) + 86400},
    "not valid yet": {"nbf": int(NOW) + 86400},
    "no time": {"iat": ...},
    "no subject": {"sub": ...},
    "empty subject": {"sub": ""},
    "number as subject": {"sub": 7},
    "NUL in the subject": {"sub": "a\0b"},
    "half a character in the subject": {"sub": "a\ud800"},
    "long subject": {"sub": "a" * 256},
    "no address": {"email": ..., "sub": "1"},
    "no valid address": {"email": "ada\0@example.com"},
    "half a character in the address": {"email": "ada@\ud800example.com"},
    "two addresses": {"email": ["ada@example.com"]},
}


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
def test_id_token_with_wrong_claims_is_refused(browser, provider, claims):
    provider.claims = claims

    refused(browser)


SIGNATURES = {
    "unsigned": lambda claims: signed(claims, "none"),
    "MAC by the public key": lambda claims: signed(claims, "HS256", pem("RSA2048")),
    "MAC by the secret": lambda claims: signed(claims, "HS256", SECRET.encode()),
    "RS512": lambda claims: signed(claims, "RS512", "RSA2048"),
    "foreign key": lambda claims: signed(claims, kind="RSA2048 of another"),
    "unknown kid": lambda claims: signed(claims, kid="k2"),
    "unknown extension": lambda claims: signed(claims, crit=["x"], x=1),
    "no signature": lambda claims: signed(claims).rpartition(".")[0] + ".",
    "other content": lambda claims: forged(signed(claims), signed(claims | {"sub": "2"})),
    "no token": lambda claims: "x",
    "number": lambda claims: 7,
    "null": lambda claims: None,
}


def forged(token, other_token):
    head, _, signature = token.split(".")
    return ".".join([head, other_token.split(".")[1], signature])


@pytest.mark.parametrize("sign", SIGNATURES.values(), ids=SIGNATURES)
def test_id_token_with_a_wrong_signature_is_refused(browser, provider, sign):
    provider.sign = sign

    refused(browser)


KEYS = {
    "weak": ("RS256", "RSA1024", {}),
    "for encryption": ("RS256", "RSA2048", {"use": "enc"}),
    "for another operation": ("RS256", "RSA2048", {"use": ..., "key_ops": ["encrypt"]}),
    "for no operation": ("RS256", "RSA2048", {"key_ops": 7}),
    "for another algorithm": ("RS256", "RSA2048", {"alg": "PS256"}),
    "of another type": ("RS256", "RSA2048", {"kty": "oct", "k": "c2VjcmV0"}),
    "broken": ("RS256", "RSA2048", {"n": 7}),
    "of another curve": ("ES256", "EC", {"crv": "P-384"}),
    "with a NUL": ("RS256", "RSA2048", {"kid": "\0"}),
    "with half a character": ("RS256", "RSA2048", {"n": "\ud800"}),
}


@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")  # the provider's own library
@pytest.mark.parametrize(("algorithm", "kind", "members"), KEYS.values(), ids=KEYS)
def test_unfit_key_verifies_nothing(browser, provider, algorithm, kind, members):
    provider.keys = [jwk(kind, **members)]
    ProviderMetadata.objects.update(keys=[], keys_read_at=timezone.now() - timedelta(hours=1))
    provider.sign = lambda claims: signed(claims, algorithm, kind)

    refused(browser)


@pytest.mark.parametrize("kid", ["k1", ...])
def test_token_without_a_kid_means_the_only_key(browser, provider, ada, kid):
    provider.keys = [jwk("RSA2048", kid=kid)]
    ProviderMetadata.objects.update(keys=provider.keys)
    provider.sign = lambda claims: signed(claims, kid=None)

    assert browser.sign_in(email=ada.email).status_code == 200
    provider.sign = lambda claims: signed(claims, kind="RSA2048 of another", kid=None)
    refused(browser)


def test_token_without_a_kid_is_refused_where_there_are_two_keys(browser, provider):
    provider.keys = [jwk("RSA2048", kid=...), jwk("EC")]
    ProviderMetadata.objects.update(keys=provider.keys)
    provider.sign = lambda claims: signed(claims, kid=None)

    refused(browser)


def test_only_key_without_a_kid_may_be_replaced(browser, provider, ada):
    provider.keys = [jwk("RSA2048 of another", kid=...)]
    provider.sign = lambda claims: signed(claims, kind="RSA2048 of another", kid=None)

    assert browser.sign_in(email=ada.email).status_code == 200


@pytest.mark.parametrize("kid", [7, ["k1"], {}])
def test_kid_that_is_no_text_is_refused(browser, provider, kid):
    provider.sign = lambda claims: signed(claims, "HS256", b"x" * 32, kid=kid, alg="RS256")

    refused(browser)


def test_id_token_without_an_algorithm_is_refused(browser, provider):
    def sign(claims):
        return ".".join(map(encoded, (b'{"kid": "k1"}', json.dumps(claims).encode(), b"")))

    provider.sign = sign

    refused(browser)


@pytest.mark.parametrize("algorithm", KINDS)
def test_four_algorithms_are_accepted(browser, provider, ada, algorithm):
    ProviderMetadata.objects.update(
        keys=[jwk("RSA2048", kid="k0"), jwk(KINDS[algorithm], alg=algorithm)]
    )
    provider.sign = lambda claims: signed(claims, algorithm)

    assert browser.sign_in(email=ada.email).status_code == 200


@pytest.mark.parametrize("claims", [
    {"aud": ["client/1"]},
    {"aud": ["client/1", "another client"], "azp": "client/1"},
    {"iat": int(NOW) - 300, "nbf": int(NOW) - 300},  # as Entra does
    {"iat": int(NOW) + 20},  # its clock is ahead
    {"email": "Ada@Example.COM"},
    {"email_verified": True, "xms_edov": "1"},
    {"given_name": 7, "family_name": "https://example.org", "name": None},
])  # fmt: skip
def test_unusual_but_valid_claims_are_accepted(browser, provider, ada, claims, time_machine):
    time_machine.move_to(NOW)
    provider.claims = claims

    assert browser.sign_in(email=ada.email).status_code == 200


@pytest.mark.parametrize("claim", ["email_verified", "xms_edov"])
@pytest.mark.parametrize("value", [False, "false", 0, None, []])
def test_address_that_is_not_verified_is_refused(browser, claim, value):
    refused(browser, "unverified", **{claim: value})


def test_missing_email_verified_is_refused_unless_the_provider_is_trusted(browser, provider, ada):
    provider.claims = {"email_verified": ...}
    refused(browser, "unverified")

    IdentityProvider.objects.update(trusts_emails=True)
    assert browser.sign_in(email=ada.email).status_code == 200
    provider.claims = {"email_verified": False}
    refused(browser, "unverified")
    IdentityProvider.objects.update(trusts_emails=False)
    provider.claims = {"email_verified": ..., "xms_edov": True}
    assert browser.sign_in(email=ada.email).status_code == 200


@pytest.mark.parametrize(("issuer", "is_known"), [
    ("https://login.microsoftonline.com/72f988bf/v2.0", True),
    ("https://login.microsoftonline.us/72f988bf/v2.0", True),
    ("https://login.microsoftonline.com.example.org/72f988bf/v2.0", False),
    ("https://example.org/https://login.microsoftonline.com/", False),
])  # fmt: skip
def test_entra_may_leave_email_verified_out(connection, issuer, is_known):
    connection.issuer = issuer
    claims = {"iss": issuer, "sub": "1", "email": "ada@example.com"}

    with nullcontext() if is_known else pytest.raises(Refusal, match="unverified"):
        require_verified_email(connection, Person.from_claims(claims))
    with pytest.raises(Refusal, match="unverified"):
        require_verified_email(connection, Person.from_claims(claims | {"email_verified": False}))


def test_keys_are_read_again_for_an_unknown_kid_at_most_once_a_minute(
    browser, provider, ada, time_machine
):
    time_machine.move_to(int(time.time()) + 1)
    assert browser.sign_in(email=ada.email).status_code == 200
    provider.keys = [jwk("RSA2048 of another", kid="k2")]
    provider.sign = lambda claims: signed(claims, kind="RSA2048 of another", kid="k2")
    ProviderMetadata.objects.update(
        metadata=ProviderMetadata.objects.get().metadata | {"jwks_uri": "https://a/"}
    )

    assert browser.sign_in(email=ada.email).status_code == 200  # soon after the set-up
    provider.sign = lambda claims: signed(claims, kid="k3")
    for calls in (1, 2):
        for _ in range(3):
            refused(browser, email=ada.email)
        assert provider.asked["/keys"] == calls
        time_machine.shift(61)


def test_key_may_be_replaced_under_its_id(browser, provider, ada):
    """Such as by a provider that names its key "1", or was restored."""
    assert browser.sign_in(email=ada.email).status_code == 200
    provider.keys = [jwk("RSA2048 of another")]
    provider.sign = lambda claims: signed(claims, kind="RSA2048 of another")

    assert browser.sign_in(email=ada.email).status_code == 200
    provider.sign = signed
    for _ in range(3):
        refused(browser, email=ada.email)
    assert provider.asked["/keys"] == 1


def test_key_that_a_parallel_request_has_fetched_is_found(browser, provider):
    loaded = ProviderMetadata.objects.get()
    new_keys = [jwk("RSA2048", kid="k2")]
    ProviderMetadata.objects.update(keys=new_keys, keys_read_at=timezone.now())
    calls = provider.asked["/keys"]

    assert loaded.find_key("k2", "RS256").key_id == "k2"
    assert provider.asked["/keys"] == calls


@pytest.mark.parametrize("path", ["/token", "/keys", "/userinfo"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_answers_without_a_document_end_the_sign_in(browser, provider, path, answer):
    provider.claims = {"email": ...}
    provider.userinfo = {"email": "new@example.com"}
    provider.says[path] = answer
    if path == "/keys":
        provider.sign = lambda claims: signed(claims, kid="k2")
        ProviderMetadata.objects.update(keys_read_at=timezone.now() - timedelta(hours=1))

    refused(browser, "expired" if (path, answer) == ("/token", ANSWERS["error"]) else "provider")
    assert provider.asked[path] == 1
    assert provider.asked["/elsewhere"] == 0


def test_address_comes_from_userinfo_if_the_id_token_has_none(browser, provider, ada):
    provider.userinfo = {"email": ada.email, "email_verified": True}
    provider.claims = {"email_verified": ...}

    assert browser.sign_in(sub="1").status_code == 200
    assert provider.asked["/userinfo"] == 1


def test_userinfo_says_whether_the_address_in_the_id_token_is_verified(browser, provider, ada):
    """Okta and others leave this out of an ID token that comes with an access token."""
    provider.claims = {"email": ada.email, "email_verified": ...}
    provider.userinfo = {"email": ada.email, "email_verified": True}
    assert browser.sign_in(sub="1").status_code == 200
    for others in ({"email_verified": False}, {"email": "bob@example.com"}, {"email": None}):
        provider.userinfo = {"email": ada.email, "email_verified": True} | others
        refused(browser, "unverified", sub="1")
    assert provider.asked["/userinfo"] == 4

    IdentityProvider.objects.update(trusts_emails=True)
    assert browser.sign_in(sub="1").status_code == 200
    assert provider.asked["/userinfo"] == 4  # what it says doesn't matter


@pytest.mark.parametrize(
    ("userinfo", "claims", "word"),
    [
        ({"sub": "2"}, {}, "provider"),
        ({"email_verified": False}, {}, "unverified"),
        ({"email_verified": True}, {"email_verified": False}, "unverified"),
        ({"email": "new@example.org"}, {}, "domain"),
        ({"iss": "https://accounts.google.com", "hd": "example.org"}, {}, "domain"),
    ],
)
def test_userinfo_is_checked_like_the_token(browser, provider, userinfo, claims, word):
    provider.userinfo = {"email": "new@example.com", "email_verified": True} | userinfo

    refused(browser, word, **{"email": ..., "email_verified": ...} | claims)
