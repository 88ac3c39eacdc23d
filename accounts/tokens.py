"""Issuing and verifying access and refresh tokens (RFC 7519, RFC 9068), and authentication by
access token (RFC 6750). The contract is interface §5.

Both have the claims `iss sub account_id role token_type iat exp jti`, and these:

- `amr` says how the user signed in (RFC 8176), `auth_time` when. A refresh copies both, `amr` as
  `remaining_amr` tells; the time limits for how long a sign-in can be prolonged.
- `token_version` is the user's. Raising the user's ends all sessions at this service. Services that
  only verify the signature accept an access token until it expires.
- `provider`, if the user signed in at the company's provider, is the provider's `session_tag`.

Other services must not take a refresh token for an access token. So its `kid` is not among the
published ones, and it has an `aud`, which a verifier that tries every key must refuse.
"""

import functools
import re
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings
from django.db import OperationalError
from django.http.response import HttpResponseBase
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework_simplejwt import tokens as simplejwt
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenBackendError, TokenError

from accounts.models import User
from api.openapi import describe_credential
from keys.cache import signing_keys

ALGORITHM = "RS256"
INTEGER_CLAIMS = ["iat", "exp", "auth_time", "token_version"]
STRING_CLAIMS = ["sub", "jti", "token_type"]
REQUIRED_CLAIMS = ["iss", "amr", *INTEGER_CLAIMS, *STRING_CLAIMS]
UUID_PATTERN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AMR_PASSWORD = ["pwd"]  # the `amr` of a sign-in by password or e-mailed link
PROVIDER_METHOD = "sso"  # in the `amr` of a sign-in at the company's provider
Claims = dict[str, Any]
NO_CLAIMS: Mapping[str, Any] = MappingProxyType({})
REFRESH_COOKIE = "service_refresh"
REFRESH_PREFIX = "refresh-"  # in a refresh token's `kid`, before that of the signing key


@functools.lru_cache(maxsize=2048)
def verified_claims(token: str, audience: str | None, prefix: str) -> tuple[str, Claims]:
    """The signing key's id, without the prefix, and the claims of a token. Both are cached: don't
    change the claims, and check at each use what may have changed, such as `exp` or the key.

    Raises PyJWTError unless the token's `kid` begins with the prefix, one of our keys has signed
    the token with JWT_ISSUER for this audience (None: it has no `aud`), the claims have the right
    types and ranges, and the token has not expired. Raises UnicodeEncodeError for a text with half
    a surrogate pair, and OperationalError (503) while no key has been read.

    Without the cache, `/auth/me` costs 18 % more. 2,048 tokens take about 4 MB.
    """
    if "=" in token:  # PyJWT would accept padding, which RFC 7515 §2 forbids
        raise jwt.DecodeError("padding")
    header = token.partition(".")[0]
    prefixed_kid = str(jwt.get_unverified_header(f"{header}..").get("kid", ""))
    kid = prefixed_kid.removeprefix(prefix)
    key = signing_keys.current().get(kid)
    if key is None or not prefixed_kid.startswith(prefix):
        raise jwt.InvalidKeyError("unknown key")
    claims = jwt.decode(
        token,
        key.public,
        algorithms=[ALGORITHM],  # the header does not choose (RFC 8725 §3.1)
        issuer=settings.JWT_ISSUER,
        audience=audience,
        leeway=settings.JWT_LEEWAY_SECONDS,
        # Hosts' clocks differ, so an `iat` may be in the future, within the bound of `decode`.
        options={"require": REQUIRED_CLAIMS, "strict_aud": True, "verify_iat": False},
    )
    if (  # PyJWT accepts these, but this service does not issue them
        not all(type(claims[name]) is int and 0 <= claims[name] < 2**63 for name in INTEGER_CLAIMS)
        or claims["exp"] > 253_402_300_799  # the last second that a datetime can hold
        or not all(type(claims[name]) is str for name in STRING_CLAIMS)
        or not UUID_PATTERN.fullmatch(claims["sub"])
        or "nbf" in claims
        or type(claims["amr"]) is not list
        or not all(type(method) is str for method in claims["amr"])
        # PyJWT treats an empty audience as a missing one.
        or ("aud" in claims) is not (audience is not None)
    ):
        raise jwt.InvalidTokenError("invalid claims")
    return kid, claims


def max_session_seconds(amr: Sequence[str]) -> int:
    """The seconds after a sign-in with this `amr` in which its tokens can be refreshed and used."""
    seconds: int = settings.SESSION_MAX_SECONDS
    return min(seconds, settings.SSO_SESSION_SECONDS) if PROVIDER_METHOD in amr else seconds


class SigningKeysBackend(TokenBackend):
    """simplejwt's backend with several keys. A token's `kid` names its key (RFC 7515 §4.1.4), after
    the `prefix`."""

    def __init__(self, audience: str | None = None, prefix: str = "") -> None:
        super().__init__(
            ALGORITHM,
            issuer=settings.JWT_ISSUER,
            leeway=settings.JWT_LEEWAY_SECONDS,
            audience=audience,
        )
        self.prefix = prefix

    def encode(self, payload: Claims) -> str:
        """The signed token with these claims, `iss` and `aud`. Raises OperationalError (503) if
        there is no key to sign it."""
        key = signing_keys.signer
        if key is None or key.private is None:
            raise OperationalError("no signing key has been read that SECRET_KEY decrypts")
        payload = payload | {"iss": self.issuer}
        if self.audience is not None:
            payload["aud"] = self.audience
        headers = {"kid": self.prefix + key.kid}
        return jwt.encode(payload, key.private, self.algorithm, headers=headers)

    def decode(self, token: str, verify: bool = True) -> Claims:
        """A copy of the claims of a token that this service signed for this audience and prefix,
        with a key that is not withdrawn, whose `iat` is at most a day ahead of this host's clock,
        and whose sign-in was less than `max_session_seconds` ago. Claims of
        earlier calls are cached, so that simplejwt's `Token` has to check `exp` after this. Raises
        TokenBackendError for any other text, and OperationalError (503) for a well-formed token
        while no key has been read. `verify` is ignored."""
        try:
            kid, claims = verified_claims(token, self.audience, self.prefix)
            if kid not in signing_keys.keys:
                raise jwt.InvalidKeyError("withdrawn key")
            now = time.time()
            if now >= claims["auth_time"] + max_session_seconds(claims["amr"]):
                raise jwt.ExpiredSignatureError("too old")
            if claims["iat"] > now + 86_400:
                raise jwt.ImmatureSignatureError("issued more than a day ahead")
            return dict(claims)  # a copy, which simplejwt's Token changes
        except (jwt.PyJWTError, UnicodeEncodeError) as error:
            raise TokenBackendError("invalid token") from error


class AccessToken(simplejwt.Token):
    """An access token: a new one, or the encoded one that is passed. The constructor raises
    TokenError for an invalid or expired one, and OperationalError (503) while no signing key has
    been read; that of RefreshToken does, too."""

    token_backend = SigningKeysBackend()
    token_type = "access"  # noqa: S105  (a claim's value, no secret)
    lifetime = timedelta(seconds=settings.ACCESS_TOKEN_SECONDS)


class RefreshToken(simplejwt.Token):
    token_backend = SigningKeysBackend(f"{settings.JWT_ISSUER}/auth/refresh", REFRESH_PREFIX)
    token_type = "refresh"  # noqa: S105
    lifetime = timedelta(seconds=settings.REFRESH_TOKEN_SECONDS)


def issue_pair(
    user: User, auth_time: int | None = None, amr: Sequence[str] = AMR_PASSWORD
) -> tuple[AccessToken, RefreshToken]:
    """New access and refresh tokens for a user who signed in by `amr` (RFC 8176) at `auth_time`, in
    seconds since the epoch; None means now. Neither is valid longer than `max_session_seconds`
    after that. `str(token)` signs a token, and raises OperationalError without a signing key."""
    auth_time = int(time.time()) if auth_time is None else auth_time
    pair = AccessToken(), RefreshToken()
    at_provider = {"provider": user.provider_tag or ""} if PROVIDER_METHOD in amr else {}
    for token in pair:
        token.payload |= at_provider | {
            "sub": str(user.pk),
            "account_id": str(user.account_id),
            "role": user.role,
            "auth_time": auth_time,
            "amr": list(amr),
            "token_version": user.token_version,
            "exp": min(token["exp"], auth_time + max_session_seconds(amr)),
        }
    return pair


def set_refresh_cookie(response: HttpResponseBase, encoded: str, seconds: int) -> None:
    """Set the encoded refresh token as an HttpOnly cookie for so many seconds; 0 clears it."""
    response.set_cookie(
        REFRESH_COOKIE,
        encoded,
        max_age=seconds,
        path="/auth",
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite=settings.COOKIE_SAMESITE,
    )


def session_allowed(user: User, claims: Mapping[str, Any] = NO_CLAIMS) -> bool:
    """Whether the company's rules let a session with these claims go on; without claims, one that
    began here. A session that began at the company's provider ends with a change of the provider;
    one that began here ends when the user must use the provider. Makes no query for a user from
    `find_by_token` or `find_by_token_with_lock`."""
    if PROVIDER_METHOD in claims.get("amr", ()):
        return bool(claims.get("provider", "") == user.provider_tag)
    return not user.must_use_provider


def find_session_user(
    user_id: UUID | str, token_version: int, claims: Mapping[str, Any] = NO_CLAIMS
) -> User | None:
    """The user of a credential that the caller has verified, such as an access token with these
    `claims`. None if the user is erased or inactive, if the user's sessions were ended since the
    credential had this `token_version`, or if `session_allowed` is false."""
    user: User | None = User.objects.find_by_token(id=user_id, token_version=token_version)
    return user if user and session_allowed(user, claims) else None


def encoded_bearer_token(request: Request) -> str:
    """The text after `Authorization: Bearer`, or "" without such a header."""
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    # The case of the scheme does not matter (RFC 9110 §11.1).
    return str(encoded).strip() if scheme.lower() == "bearer" else ""


def find_access_token(request: Request) -> AccessToken | None:
    """The request's access token, or None without a valid one; its user is not looked up. Raises
    OperationalError (503) for a well-formed token while no signing key has been read."""
    try:
        return AccessToken(encoded_bearer_token(request))
    except TokenError:
        return None


BEARER_CREDENTIAL = describe_credential(
    "bearer",
    {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "An access token (RS256), from any call that signs in.",
    },
)


class BearerAuthentication(BaseAuthentication):
    """Authentication by access token: `request.user` is its user, `request.auth` the token."""

    credentials = [BEARER_CREDENTIAL]  # for the OpenAPI document

    def caller_key(self, request: Request) -> str:
        """The key under which the request is counted: the user and the token version, so that ended
        sessions don't use up the user's limit. "" without a valid token. Makes no query."""
        token = find_access_token(request)
        return f"user:{token['sub']}:{token['token_version']}" if token else ""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """The user and the access token, or None without an Authorization header. Raises
        AuthenticationFailed for a header without a valid access token, or if `find_session_user`
        finds no user, and OperationalError (503) while this process has read no signing key."""
        if "HTTP_AUTHORIZATION" not in request.META:
            return None
        if token := find_access_token(request):
            user = find_session_user(token["sub"], token["token_version"], token.payload)
            if user:
                return user, token
        raise AuthenticationFailed

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
