"""Calls to a provider, and the checks of what it answers: metadata, keys, ID tokens and claims. All
of it is untrusted. A company's admin chooses the provider.

Sections (§) are of OpenID Connect Core 1.0. Metadata follow OpenID Connect Discovery 1.0.
"""

import base64
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from django.conf import settings
from django.core.exceptions import ValidationError

from accounts.validators import validate_name
from base.emails import canonical_email
from base.outgoing import CallFailed, HttpAnswer, HttpClient, parse_url
from base.text import REFUSED_RANGES, printable_text
from sso.errors import ProviderDown, ProviderFailed, Reason, Refusal

SIGNATURE_ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"]
CLOCK_SKEW_SECONDS = 30  # accepted between the provider's clock and this host's
ID_TOKEN_SECONDS = 600  # an ID token is refused when its `iat` is longer ago
JWK_MEMBERS = ["kty", "kid", "alg", "n", "e", "crv", "x", "y"]
ENDPOINTS = ["authorization_endpoint", "token_endpoint", "jwks_uri"]
VERIFIED_CLAIMS = ["email_verified", "xms_edov"]  # whether the address is; the second of Entra
GOOGLE_ISSUER = "https://accounts.google.com"
VALID_SUB = re.compile(f"[^{REFUSED_RANGES}]{{1,255}}")  # PyJWT accepts any text
# What PyJWT raises for a token or key that is invalid or of an unexpected type.
JWT_ERRORS = (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, AttributeError, KeyError)
DOWN_REASONS = {"timeout", "unreachable", "certificate"}  # of CallFailed
JSONObject = dict[str, Any]

provider_client = HttpClient("sso", seconds=5, max_bytes=100 * 1024, max_calls=32)


def fetch_json(
    step: str, issuer: str, url: str, form: Mapping[str, str] | None = None, **headers: str
) -> JSONObject:
    """Return the JSON object at a URL of the issuer, by GET or, with a `form`, by POST, within 5
    seconds. `step` names the call for admins. Raises ProviderDown for a 5xx and for DOWN_REASONS,
    ProviderFailed for a URL that may not be called and for any other answer without a JSON object
    of 100 KB at most, Refusal (BUSY) while too many calls are running, and for a 4xx to a `form`
    ProviderDown, or Refusal with EXPIRED or PROVIDER, as `check_form_accepted` says."""
    private_origins = settings.SSO_PRIVATE_ISSUERS
    try:
        answer = provider_client.fetch(
            url, form=form, headers=headers, private_origins=private_origins, party=issuer
        )
        if answer.status >= 500:
            raise ProviderDown(step, "status")
        if form:
            check_form_accepted(step, answer)
        return answer.document()
    except CallFailed as error:
        if error.reason == "busy":
            raise Refusal(Reason.BUSY, step, "busy") from None
        failure = ProviderDown if error.reason in DOWN_REASONS else ProviderFailed
        raise failure(step, error.reason) from None


def check_form_accepted(step: str, answer: HttpAnswer) -> None:
    """Raise ProviderDown if the token endpoint refuses the client ID or secret (RFC 6749 §5.2;
    Keycloak has another error with status 401). Anyone can cause any other 4xx by a made-up code:
    raise Refusal (EXPIRED) for `invalid_grant`, (PROVIDER) for the others."""
    if not 400 <= answer.status < 500:
        return
    try:
        error = answer.document(answer.status).get("error")
    except CallFailed:
        error = None
    if answer.status == 401 or error == "invalid_client":
        raise ProviderDown(step, "invalid_client")
    if error == "invalid_grant":
        raise Refusal(Reason.EXPIRED)
    raise Refusal(Reason.PROVIDER, step, "status")


def discover_provider(issuer: str) -> JSONObject:
    """Fetch what ProviderMetadata stores, by two calls. Raises ProviderFailed without a usable
    answer, or Refusal (BUSY)."""
    metadata = fetch_metadata(issuer)
    return {"metadata": metadata, "keys": fetch_keys(metadata)}


def fetch_metadata(issuer: str) -> JSONObject:
    """Return `issuer`, the ENDPOINTS, `userinfo_endpoint` if there is one, whether the provider
    takes the client secret in the form only (`posts_secret`), and whether it sends `iss` to the
    redirect URI (`sends_iss`). Raises ProviderFailed if an endpoint is missing or its URL may not
    be called, for metadata of another issuer, and without a usable answer; or Refusal (BUSY)."""
    url = issuer.rstrip("/") + "/.well-known/openid-configuration"
    document = fetch_json("metadata", issuer, url)
    # Also refuses Entra's `common` and `organizations`, whose metadata name a template.
    if document.get("issuer") != issuer:
        raise ProviderFailed("metadata", "issuer")
    endpoints = {name: document.get(name) for name in ENDPOINTS}
    if document.get("userinfo_endpoint"):
        endpoints["userinfo_endpoint"] = document["userinfo_endpoint"]
    try:
        for endpoint in endpoints.values():
            parse_url(endpoint, settings.SSO_PRIVATE_ISSUERS)
    except CallFailed:
        raise ProviderFailed("metadata", "endpoint") from None
    methods = document.get("token_endpoint_auth_methods_supported")
    return endpoints | {
        "issuer": issuer,
        "posts_secret": isinstance(methods, list) and "client_secret_basic" not in methods,
        "sends_iss": document.get("authorization_response_iss_parameter_supported") is True,
    }


def fetch_keys(metadata: JSONObject) -> list[JSONObject]:
    """Return the provider's keys for signatures as JWKs, each reduced to its JWK_MEMBERS, and maybe
    unusable. Raises ProviderFailed without a usable answer or any key, or Refusal (BUSY)."""
    jwks = fetch_json("keys", metadata["issuer"], metadata["jwks_uri"]).get("keys")
    keys = [*filter(None, map(jwk_members, jwks))] if isinstance(jwks, list) else []
    if not keys:
        raise ProviderFailed("keys", "keys")
    return keys


def jwk_members(key: object) -> JSONObject:
    """Return the members of a JWK that verify signatures, if they are printable texts: PostgreSQL
    can't store every text. Return {} if the key has another use (RFC 7517 §4) or is no object."""
    if not isinstance(key, dict) or key.get("use", "sig") != "sig":
        return {}
    uses = key.get("key_ops", ["verify"])
    if not isinstance(uses, list) or "verify" not in uses:
        return {}
    texts = ((name, key.get(name)) for name in JWK_MEMBERS)
    return {name: text for name, text in texts if isinstance(text, str) and text.isprintable()}


def check_issuer(metadata: JSONObject, issuer: str | None) -> None:
    """Raise Refusal (PROVIDER) if the `iss` that came to the redirect URI is another issuer's, or
    missing (None) although the provider sends it (RFC 9207): a provider could pass on another
    provider's answers. It is no ProviderFailed, since anyone can call the redirect URI."""
    if (issuer is None and metadata["sends_iss"]) or issuer not in {None, metadata["issuer"]}:
        raise Refusal(Reason.PROVIDER, "iss")


def redeem_code(metadata: JSONObject, client_id: str, secret: str, **form: str) -> tuple[str, str]:
    """Send the `code`, `redirect_uri` and `code_verifier` of `form` to the token endpoint in the
    `metadata`, and return the unchecked ID token and the access token, "" without one. Raises
    ProviderFailed without an ID token or a usable answer, or if the client ID or secret is refused;
    Refusal: EXPIRED for an invalid code, PROVIDER for another 4xx, BUSY for too many calls."""
    form |= {"grant_type": "authorization_code"}
    headers = {}
    if metadata["posts_secret"]:
        form |= {"client_id": client_id, "client_secret": secret}
    else:  # RFC 6749 §2.3.1: each is encoded as in a form, then both in base64
        credentials = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    answer = fetch_json("token", metadata["issuer"], metadata["token_endpoint"], form, **headers)
    id_token, access_token = answer.get("id_token"), answer.get("access_token")
    if not isinstance(id_token, str):
        raise ProviderFailed("no ID token")
    return id_token, access_token if isinstance(access_token, str) else ""


def read_token_header(token: str) -> tuple[str | None, str]:
    """Return the `kid`, None without one, and the `alg` in the header of an unverified ID token.
    Raises ProviderFailed for a malformed token, or an `alg` outside SIGNATURE_ALGORITHMS."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError):
        raise ProviderFailed("ID token") from None
    algorithm = header.get("alg")
    if algorithm not in SIGNATURE_ALGORITHMS:  # RFC 8725 §3.1
        raise ProviderFailed("algorithm")
    return header.get("kid"), algorithm


def find_key(keys: list[JSONObject], kid: str | None, algorithm: str) -> jwt.PyJWK | None:
    """Return the first key with this `kid` that fits the algorithm, or None. For the `kid` None,
    the key must be the only one (§10.1)."""
    if kid is None and len(keys) > 1:
        return None
    for key in keys:
        try:
            if kid in {None, key.get("kid")} and key.get("alg", algorithm) == algorithm:
                return jwt.PyJWK(key, algorithm)
        except JWT_ERRORS:
            continue
    return None


class WrongSignature(ProviderFailed):
    """Another key than the one with the token's `kid` has signed it."""


def check_token(token: str, key: jwt.PyJWK, issuer: str, client_id: str, nonce: str) -> JSONObject:
    """Check an ID token (§3.1.3.7) and return its claims. Raises WrongSignature, a ProviderFailed,
    unless the key has signed it, and another ProviderFailed unless it comes from this issuer for
    this client, is valid now, was issued ID_TOKEN_SECONDS ago at most, and has this nonce and a
    valid `sub`."""
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=SIGNATURE_ALGORITHMS,
            issuer=issuer,
            audience=client_id,
            leeway=CLOCK_SKEW_SECONDS,
            options={
                "require": ["sub", "exp", "iat", "nonce"],  # besides `iss` and `aud`
                "enforce_minimum_key_length": True,  # RSA from 2048 bits
            },
        )
    except jwt.InvalidSignatureError as error:
        raise WrongSignature("ID token", type(error).__name__) from None
    except JWT_ERRORS as error:
        raise ProviderFailed("ID token", type(error).__name__) from None
    audience, authorized_party = claims["aud"], claims.get("azp")
    has_several = isinstance(audience, list) and len(audience) > 1
    if authorized_party != client_id and (has_several or authorized_party is not None):
        raise ProviderFailed("ID token", "azp")
    if claims["nonce"] != nonce:
        raise ProviderFailed("ID token", "nonce")
    if int(claims["iat"]) < time.time() - ID_TOKEN_SECONDS:
        raise ProviderFailed("ID token", "iat")
    if not VALID_SUB.fullmatch(claims["sub"]):
        raise ProviderFailed("ID token", "sub")
    return claims


def check_auth_time(claims: JSONObject, begun_at: int) -> None:
    """Raise ProviderFailed unless the user has entered their credentials at the provider since
    `begun_at`, in epoch seconds, and not in the future (§3.1.3.7, 12), each give or take
    CLOCK_SKEW_SECONDS."""
    auth_time: Any = claims.get("auth_time")
    earliest, latest = begun_at - CLOCK_SKEW_SECONDS, time.time() + CLOCK_SKEW_SECONDS
    is_number = type(auth_time) in {int, float}  # a bool is none
    if not (is_number and earliest <= auth_time <= latest):
        raise ProviderFailed("ID token", "auth_time")


def fetch_userinfo(metadata: JSONObject, access_token: str, sub: str) -> JSONObject:
    """Return the claims at the provider's userinfo endpoint; {} if it has none. Raises
    ProviderFailed without a usable answer or if the claims have another `sub` (§5.3.2), or Refusal
    (BUSY) for too many calls."""
    if "userinfo_endpoint" not in metadata:
        return {}
    issuer, url = metadata["issuer"], metadata["userinfo_endpoint"]
    claims = fetch_json("userinfo", issuer, url, Authorization=f"Bearer {access_token}")
    if claims.get("sub") != sub:
        raise ProviderFailed("userinfo", "sub")
    return claims


@dataclass(frozen=True)
class Person:
    """A user as the provider's claims describe them.

    `is_verified` is None if the provider doesn't say whether the address is verified. `workspace`
    is the domain of a Google Workspace, which the company must have proved; "" for private accounts
    at Google, and None for providers that name no workspace.
    """

    sub: str
    email: str
    is_verified: bool | None
    first_name: str
    last_name: str
    workspace: object

    @classmethod
    def from_claims(cls, claims: JSONObject) -> Self:
        """Return the person whom checked claims describe. Entra says in `xms_edov` whether the
        address is verified; with `email_verified`, both must say so. Raises ProviderFailed without
        a valid address."""
        try:
            email = canonical_email(claims["email"])
        except (ValidationError, ValueError, AttributeError, KeyError):
            raise ProviderFailed("e-mail address") from None
        flags = [claims[name] for name in VERIFIED_CLAIMS if name in claims]
        is_verified = all(flag in (True, "true", "1") for flag in flags) if flags else None
        workspace = claims.get("hd")
        if workspace is None and claims["iss"] == GOOGLE_ISSUER:
            workspace = ""  # an account of its own
        names = [name_in_claim(claims, "given_name"), name_in_claim(claims, "family_name")]
        first, last = names if any(names) else (name_in_claim(claims, "name"), "")
        return cls(claims["sub"], email, is_verified, first, last, workspace)


def name_in_claim(claims: JSONObject, claim: str) -> str:
    """Return the first 150 printable characters of a name in the claims; "" without one that is
    allowed in a profile."""
    value = claims.get(claim)
    name = printable_text(value, 150).strip() if isinstance(value, str) else ""
    try:
        validate_name(name)
    except ValidationError:
        return ""
    return name
