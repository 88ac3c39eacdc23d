"""Issuing and verifying access and refresh tokens (RFC 7519, RFC 9068), and authentication by
access token (RFC 6750).

Claims: `iss sub account_id role token_type iat exp jti`, and three more. `amr` says how the user
signed in (RFC 8176), and `auth_time` when; refreshing copies both, and the time bounds how long a
sign-in can be prolonged. `token_version` is the user's: raising it ends all sessions at once. A
session that began at the company's provider also has `provider`, the connection's `session_tag`.

Only this service accepts its refresh tokens: their `kid` is not among the published ones, and their
`aud` is unknown to a verifier that tries every key.

The contract: interface §5.
"""

import functools
import re
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

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
from keys.models import SigningKey

ALGORITHM = "RS256"
INTEGERS = ["iat", "exp", "auth_time", "token_version"]
STRINGS = ["sub", "jti", "token_type"]
REQUIRED = ["iss", "amr", *INTEGERS, *STRINGS]
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # a UUID as we write it
AMR_PASSWORD = ["pwd"]  # the `amr` of a password or an e-mailed link
SSO = "sso"  # in the `amr` of a sign-in at the company's provider
Claims = dict[str, Any]
NO_CLAIMS: Mapping[str, Any] = MappingProxyType({})
REFRESH_COOKIE = "service_refresh"
REFRESH_PREFIX = "refresh-"  # before the kid of the key that signed


@functools.lru_cache(maxsize=2048)
def verified_claims(token: str, key: SigningKey, audience: str | None) -> Claims:
    """The claims of a token that the key has signed; InvalidTokenError for any other.

    Valid tokens are cached, since a client sends the same one for an hour: without the cache,
    `/auth/me` costs 18 % more. What can change is checked each time: the key and the sign-in's age
    by `KeyRingBackend.decode`, the expiry by simplejwt, the user by the caller. 2,048 tokens take
    about 4 MB.
    """
    if "=" in token:  # RFC 7515 §2: no padding; PyJWT is lenient there
        raise jwt.DecodeError("padding")
    claims = jwt.decode(
        token,
        key.public,
        algorithms=[ALGORITHM],  # whatever the header says (RFC 8725 §3.1)
        issuer=settings.JWT_ISSUER,
        audience=audience,
        leeway=settings.JWT_LEEWAY_SECONDS,
        # Clocks differ, so an `iat` in the future is no error; `decode` bounds it.
        options={"require": REQUIRED, "strict_aud": True, "verify_iat": False},
    )
    if (  # PyJWT accepts these, and we never write them
        not all(type(claims[name]) is int and 0 <= claims[name] < 2**63 for name in INTEGERS)
        or claims["exp"] > 253_402_300_799  # the last second that a datetime can hold
        or not all(type(claims[name]) is str for name in STRINGS)
        or not ID.fullmatch(claims["sub"])
        or "nbf" in claims
        or type(claims["amr"]) is not list
        or not all(type(method) is str for method in claims["amr"])
        # PyJWT treats an empty audience as none.
        or ("aud" in claims) is not (audience is not None)
    ):
        raise jwt.InvalidTokenError("invalid claims")
    return claims


def longest_session(amr: Sequence[str]) -> int:
    """Seconds for which a sign-in by these methods can be prolonged."""
    longest: int = settings.SESSION_MAX_SECONDS
    return min(longest, settings.SSO_SESSION_SECONDS) if SSO in amr else longest


class KeyRingBackend(TokenBackend):
    """simplejwt's backend with several keys: `kid` names the one that signed (RFC 7515 §4.1.4).

    It writes and accepts `aud` of exactly `audience`, or none, and kids that begin with `prefix`.
    """

    def __init__(self, audience: str | None = None, prefix: str = "") -> None:
        super().__init__(
            ALGORITHM,
            issuer=settings.JWT_ISSUER,
            leeway=settings.JWT_LEEWAY_SECONDS,
            audience=audience,
        )
        self.prefix = prefix

    def encode(self, payload: Claims) -> str:
        """Raises OperationalError (503) if there is no key to sign with."""
        key = signing_keys.signer
        if key is None or key.private is None:
            raise OperationalError("no signing key has been read that SECRET_KEY decrypts")
        payload = payload | {"iss": self.issuer}
        if self.audience is not None:
            payload["aud"] = self.audience
        headers = {"kid": self.prefix + key.kid}
        return jwt.encode(payload, key.private, self.algorithm, headers=headers)

    def decode(self, token: str, verify: bool = True) -> Claims:
        """The claims of a token, which is always verified. Raises TokenBackendError."""
        try:
            header = token.partition(".")[0]
            kid = str(jwt.get_unverified_header(f"{header}..").get("kid", ""))
            key = signing_keys.current().get(kid.removeprefix(self.prefix))
            if key is None or not kid.startswith(self.prefix):
                raise jwt.InvalidKeyError("unknown key")
            claims = verified_claims(token, key, self.audience)
            now = time.time()
            if now >= claims["auth_time"] + longest_session(claims["amr"]):
                raise jwt.ExpiredSignatureError("too old")
            if claims["iat"] > now + 86_400:
                raise jwt.ImmatureSignatureError("of a clock that was a day ahead")
            return dict(claims)  # a copy: a Token changes it
        except (jwt.PyJWTError, UnicodeEncodeError) as error:
            raise TokenBackendError("invalid token") from error


class AccessToken(simplejwt.Token):
    """Raises TokenError for an invalid token, as RefreshToken does."""

    token_backend = KeyRingBackend()
    token_type = "access"  # noqa: S105  (a claim's value, no secret)
    lifetime = timedelta(seconds=settings.ACCESS_TOKEN_SECONDS)


class RefreshToken(simplejwt.Token):
    token_backend = KeyRingBackend(f"{settings.JWT_ISSUER}/auth/refresh", REFRESH_PREFIX)
    token_type = "refresh"  # noqa: S105
    lifetime = timedelta(seconds=settings.REFRESH_TOKEN_SECONDS)


def issue_pair(
    user: User, auth_time: int | None = None, amr: Sequence[str] = AMR_PASSWORD
) -> tuple[AccessToken, RefreshToken]:
    """A new pair; `amr` says how the user signed in, `auth_time` when, by default now."""
    auth_time = int(time.time()) if auth_time is None else auth_time
    pair = AccessToken(), RefreshToken()
    at_provider = {"provider": user.provider_tag or ""} if SSO in amr else {}
    for token in pair:
        token.payload |= at_provider | {
            "sub": str(user.pk),
            "account_id": str(user.account_id),
            "role": user.role,
            "auth_time": auth_time,
            "amr": list(amr),
            "token_version": user.token_version,
            "exp": min(token["exp"], auth_time + longest_session(amr)),
        }
    return pair


def set_refresh_cookie(response: HttpResponseBase, encoded: str, seconds: int) -> None:
    """Set the token as an HttpOnly cookie that lasts as many seconds; 0 clears it, with the same
    attributes, or browsers would keep it."""
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
    """Whether the session may go on. False if it began at a provider that the company no longer
    has, or elsewhere although the user must use the provider. The user comes from `find_by_token`
    or `find_by_token_with_lock`."""
    if SSO in claims.get("amr", ()):
        return bool(claims.get("provider", "") == user.provider_tag)
    return not user.must_use_provider


def find_session_user(
    user_id: object, token_version: int, claims: Mapping[str, Any] = NO_CLAIMS
) -> User | None:
    """The active user of a token with these claims; without claims, of another credential from a
    sign-in here, such as a grant. None if their sessions were ended since, or this one may not go
    on."""
    user: User | None = User.objects.find_by_token(id=user_id, token_version=token_version)
    return user if user and session_allowed(user, claims) else None


def bearer_token(request: Request) -> AccessToken | None:
    """The request's access token if it is valid; verified once for each request."""
    kept = vars(request)
    if "bearer_token" not in kept:
        try:
            kept["bearer_token"] = AccessToken(encoded_bearer_token(request))
        except TokenError:
            kept["bearer_token"] = None
    token: AccessToken | None = kept["bearer_token"]
    return token


def encoded_bearer_token(request: Request) -> str:
    """What follows `Authorization: Bearer`, or ""."""
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    # RFC 9110 §11.1: the scheme's case does not matter.
    return str(encoded).strip() if scheme.lower() == "bearer" else ""


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
    """`request.user` is the active user whom the token names, unless their sessions were ended
    since; `request.auth` is the token."""

    credentials = [BEARER_CREDENTIAL]  # for the OpenAPI document

    def caller_key(self, request: Request) -> str:
        """By what a request with a valid access token is counted, without a query; else "".

        An ended session has a count of its own. No address begins with "user".
        """
        token = bearer_token(request)
        return f"user:{token['sub']}:{token['token_version']}" if token else ""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """None without a token; raises AuthenticationFailed for an invalid one."""
        if "HTTP_AUTHORIZATION" not in request.META:
            return None
        if token := bearer_token(request):
            user = find_session_user(token["sub"], token["token_version"], token.payload)
            if user:
                return user, token
        raise AuthenticationFailed

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
