"""What a provider says: its metadata, its keys and its ID tokens. All of it is untrusted.

OpenID Connect Core 1.0 and Discovery 1.0, RFC 8725 (JWT), RFC 9207 (`iss`).
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

ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"]
LEEWAY = 30  # seconds, between the provider's clock and ours
OLDEST = 600  # seconds since `iat`
MEMBERS = ["kty", "kid", "alg", "n", "e", "crv", "x", "y"]  # of a key
ENDPOINTS = ["authorization_endpoint", "token_endpoint", "jwks_uri"]
GOOGLE = "https://accounts.google.com"
SUBJECT = re.compile(f"[^{REFUSED_RANGES}]{{1,255}}")  # PyJWT accepts any
INVALID = (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, AttributeError, KeyError)
NO_ANSWER = {"timeout", "unreachable", "certificate"}  # reasons of CallFailed
JSON = dict[str, Any]

http_client = HttpClient("sso", seconds=5, most_bytes=100 * 1024, at_a_time=32)


def fetch(
    step: str, issuer: str, url: str, form: Mapping[str, str] | None = None, **headers: str
) -> JSON:
    """The JSON object at a URL of the issuer's. Raises ProviderFailed, ProviderDown, Refusal while
    too many calls are running, or as `check_form_accepted`."""
    private = settings.SSO_PRIVATE_ISSUERS
    try:
        answer = http_client.fetch(
            url, form=form, headers=headers, private_origins=private, party=issuer
        )
        if answer.status >= 500:
            raise ProviderDown(step, "status")
        if form:
            check_form_accepted(step, answer)
        return answer.document()
    except CallFailed as error:
        if error.reason == "busy":
            raise Refusal(Reason.BUSY, step, "busy") from None
        failure = ProviderDown if error.reason in NO_ANSWER else ProviderFailed
        raise failure(step, error.reason) from None


def check_form_accepted(step: str, answer: HttpAnswer) -> None:
    """Raise ProviderDown if the provider refuses our client (RFC 6749 §5.2; Keycloak has another
    word, with the same status), and Refusal for any other 4xx: anyone can send a made-up code."""
    if not 400 <= answer.status < 500:
        return
    try:
        error = answer.document(answer.status).get("error")
    except CallFailed:
        error = None
    if answer.status == 401 or error == "invalid_client":
        raise ProviderDown(step, "invalid_client")
    if error == "invalid_grant":
        raise Refusal(Reason.EXPIRED, step, "invalid_grant")
    raise Refusal(Reason.PROVIDER, step, "status")


def discover_provider(issuer: str) -> JSON:
    """What is kept of a provider: its `metadata` and `keys`. Raises Refusal."""
    metadata = read_metadata(issuer)
    return {"metadata": metadata, "keys": read_keys(metadata)}


def read_metadata(issuer: str) -> JSON:
    """The members of a provider's metadata that are used. Raises ProviderFailed."""
    url = issuer.rstrip("/") + "/.well-known/openid-configuration"
    document = fetch("metadata", issuer, url)
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


def read_keys(metadata: JSON) -> list[JSON]:
    """The provider's keys that verify signatures. Raises ProviderFailed."""
    jwks = fetch("keys", metadata["issuer"], metadata["jwks_uri"]).get("keys")
    keys = [*filter(None, map(members_of, jwks))] if isinstance(jwks, list) else []
    if not keys:
        raise ProviderFailed("keys", "keys")
    return keys


def members_of(key: object) -> JSON:
    """The members of a JWK that verifying takes; none of one that doesn't verify signatures (RFC
    7517 §4). JSON has texts and numbers that PostgreSQL can't store."""
    if not isinstance(key, dict) or key.get("use", "sig") != "sig":
        return {}
    uses = key.get("key_ops", ["verify"])
    if not isinstance(uses, list) or "verify" not in uses:
        return {}
    texts = ((name, key.get(name)) for name in MEMBERS)
    return {name: text for name, text in texts if isinstance(text, str) and text.isprintable()}


def check_issuer(metadata: JSON, issuer: str | None) -> None:
    """Check the answer's `iss` (RFC 9207), without which one provider could pass on another's
    answers. Raises Refusal; anyone can send a wrong one."""
    if (issuer is None and metadata["sends_iss"]) or issuer not in {None, metadata["issuer"]}:
        raise Refusal(Reason.PROVIDER, "iss")


def redeem_code(metadata: JSON, client_id: str, secret: str, **form: str) -> tuple[str, str]:
    """The ID token and the access token for a provider's code. Raises Refusal."""
    form |= {"grant_type": "authorization_code"}
    headers = {}
    if metadata["posts_secret"]:
        form |= {"client_id": client_id, "client_secret": secret}
    else:  # RFC 6749 §2.3.1: encoded as a form, then in base64
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    answer = fetch("token", metadata["issuer"], metadata["token_endpoint"], form, **headers)
    tokens = answer.get("id_token"), answer.get("access_token")
    if not isinstance(tokens[0], str):
        raise ProviderFailed("no ID token")
    return tokens[0], tokens[1] if isinstance(tokens[1], str) else ""


def key_named(token: str) -> tuple[str | None, str]:
    """The `kid`, if any, and the `alg` of an ID token. Raises ProviderFailed."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError):
        raise ProviderFailed("ID token") from None
    kid, algorithm = header.get("kid"), header.get("alg")
    if not isinstance(kid, str | None) or algorithm not in ALGORITHMS:  # RFC 8725 §3.1
        raise ProviderFailed("algorithm")
    return kid, algorithm


def find_key(keys: list[JSON], kid: str | None, algorithm: str) -> jwt.PyJWK | None:
    """The key that may verify signatures by this algorithm. A token without a `kid` means the only
    one (OpenID Connect Core §10.1)."""
    if kid is None and len(keys) > 1:
        return None
    for key in keys:
        try:
            if kid in {None, key.get("kid")} and key.get("alg", algorithm) == algorithm:
                return jwt.PyJWK(key, algorithm)
        except INVALID:
            continue
    return None


def check_token(token: str, key: jwt.PyJWK, issuer: str, client_id: str, nonce: str) -> JSON:
    """The claims of an ID token (OpenID Connect Core §3.1.3.7). Raises ProviderFailed."""
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            issuer=issuer,
            audience=client_id,
            leeway=LEEWAY,
            options={
                "require": ["sub", "exp", "iat", "nonce"],  # besides `iss` and `aud`
                "enforce_minimum_key_length": True,  # RSA from 2048 bits
            },
        )
    except INVALID as error:
        raise ProviderFailed("ID token", type(error).__name__) from None
    audiences, party = claims["aud"], claims.get("azp")
    if (isinstance(audiences, list) and len(audiences) > 1 and party is None) or (
        party not in [None, client_id]
    ):
        raise ProviderFailed("ID token", "azp")
    if claims["nonce"] != nonce:
        raise ProviderFailed("ID token", "nonce")
    if int(claims["iat"]) < time.time() - OLDEST:
        raise ProviderFailed("ID token", "iat")
    if not SUBJECT.fullmatch(claims["sub"]):
        raise ProviderFailed("ID token", "sub")
    return claims


def check_auth_time(claims: JSON, begun_at: int) -> None:
    """Check that the user has signed in since then, for a request with `max_age` (§3.1.3.7, 12).
    Raises ProviderFailed."""
    at = claims.get("auth_time")
    if type(at) is not int or not begun_at - LEEWAY <= at <= time.time() + LEEWAY:
        raise ProviderFailed("ID token", "auth_time")


def read_userinfo(metadata: JSON, access_token: str, sub: str) -> JSON:
    """The claims at the provider's userinfo endpoint, if they are about the same user (§5.3.2).
    Raises ProviderFailed."""
    if "userinfo_endpoint" not in metadata:
        return {}
    issuer, url = metadata["issuer"], metadata["userinfo_endpoint"]
    claims = fetch("userinfo", issuer, url, Authorization=f"Bearer {access_token}")
    if claims.get("sub") != sub:
        raise ProviderFailed("userinfo", "sub")
    return claims


@dataclass(frozen=True)
class Person:
    """A user as the provider names them. `is_verified` is None if it doesn't say whether the
    address is. `workspace` is the Google Workspace whose domain must be proved, "" for other
    accounts at Google, and None where no provider names one."""

    sub: str
    email: str
    is_verified: bool | None
    first_name: str
    last_name: str
    workspace: object

    @classmethod
    def read(cls, claims: JSON) -> Self:
        """Raises ProviderFailed if there is no address. Entra says in `xms_edov`, where it is asked
        to, whether the address is verified."""
        try:
            email = canonical_email(claims["email"])
        except (ValidationError, ValueError, AttributeError, KeyError):
            raise ProviderFailed("e-mail address") from None
        values = [claims[name] for name in ("email_verified", "xms_edov") if name in claims]
        is_verified = all(value in (True, "true", "1") for value in values) if values else None
        workspace = claims.get("hd", "" if claims["iss"] == GOOGLE else None)
        names = [name_in(claims, "given_name"), name_in(claims, "family_name")]
        first, last = names if any(names) else (name_in(claims, "name"), "")
        return cls(claims["sub"], email, is_verified, first, last, workspace)


def name_in(claims: JSON, name: str) -> str:
    """A name among the claims; "" if it can't be one here."""
    name_claim = claims.get(name)
    try:
        text = printable_text(name_claim, 150).strip() if isinstance(name_claim, str) else ""
        validate_name(text)
    except ValidationError:
        return ""
    return text
