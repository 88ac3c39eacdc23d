"""Access and refresh tokens: issued, read, and refused when too old (RFC 7519, RFC 9068).

Claims: `iss sub account_id role token_type iat exp jti`, and three more. `amr` says how the user
signed in (RFC 8176). `auth_time` is when that was (the name is OpenID Connect's); refreshing copies
both, and the time bounds how long a sign-in can be prolonged. `token_version` is the user's at
that time; raising the user's ends all sessions at once, without a list of tokens.

A refresh token is for this service alone. A verifier that knows the published keys and the issuer
finds no key for it, since its `kid` is not among them, and one that tries every key meets an `aud`
that it was not told of.

The contract: interface §5, decisions §3.
"""

import functools
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings
from rest_framework_simplejwt import tokens as simplejwt
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenBackendError, TokenError
from rest_framework_simplejwt.settings import api_settings

from accounts.models import User
from keys.cache import Key, signing_keys

INTEGERS = ["iat", "exp", "auth_time", "token_version"]
STRINGS = ["sub", "jti", "token_type"]
DECODE_ERRORS = (jwt.PyJWTError, UnicodeEncodeError)
PASSWORD = ["pwd"]  # the `amr` of a password or a mailed link; and of tokens from before it
Claims = dict[str, Any]
LATEST = 253_402_300_799  # the last second that a datetime can hold
REFRESH_PREFIX = "refresh-"  # before the kid of the key that signed


@functools.lru_cache(maxsize=16)
def kid_of(header: str) -> str:
    """The `kid` in a token's encoded header, or ""; InvalidTokenError for one that is unreadable.

    Tokens of one key share one header, so it is read once for all of them.
    """
    members = jwt.get_unverified_header(f"{header}..")
    if "crit" in members:  # RFC 7515 §4.1.11: extensions that we must understand, and write none of
        raise jwt.InvalidTokenError("extended header")
    return str(members.get("kid", ""))


@functools.lru_cache(maxsize=2048)
def verified_claims(token: str, key: Key, audience: str | None) -> Claims:
    """The claims of a token that the key has signed; InvalidTokenError for any other.

    A client sends one access token for an hour, and neither its bytes nor its signature change:
    what has been found good once (nothing else is kept) is not taken apart again, which takes
    0.06 ms off each call. What can change is looked at each time: its time by `Token.verify`, its
    key by `KeyRingBackend.decode`, its user by the caller. 2,048 tokens of some 2 kB are held.
    """
    if "=" in token:  # RFC 7515 §2: no padding; PyJWT is lenient there
        raise jwt.DecodeError("padding")
    claims = jwt.decode(
        token,
        key.public,
        algorithms=[api_settings.ALGORITHM],  # whatever the header says (RFC 8725 §3.1)
        issuer=api_settings.ISSUER,
        audience=audience,
        leeway=api_settings.LEEWAY,
        # Clocks differ and are set back: a token is no worse for having been issued later than now.
        # `exp` and `auth_time` bound its life.
        options={
            "require": ["iss", *INTEGERS, *STRINGS],
            "strict_aud": True,
            "verify_iat": False,
        },
    )
    check_claims(claims, audience)
    return claims


def check_claims(claims: Claims, audience: str | None) -> None:
    """Refuse with InvalidTokenError what PyJWT takes and we never write."""
    if (
        not all(type(claims[name]) is int and 0 <= claims[name] < 2**63 for name in INTEGERS)
        or claims["exp"] > LATEST
        or not all(type(claims[name]) is str for name in STRINGS)
        or not is_id(claims["sub"])
        or "nbf" in claims
        or not is_amr(claims.get("amr", PASSWORD))
        # PyJWT lets an empty audience pass as none.
        or ("aud" in claims) is not (audience is not None)
    ):
        raise jwt.InvalidTokenError("no claims of ours")


def is_amr(value: object) -> bool:
    return type(value) is list and all(type(word) is str for word in value)


def is_id(text: str) -> bool:
    """Whether a text is a user's id in the one spelling that we write."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


class KeyRingBackend(TokenBackend):
    """simplejwt's backend over many keys: `kid` names the one that signed (RFC 7515 §4.1.4).

    simplejwt's own holds a single key, writes no `kid` and requires no claim. With an `audience`
    it writes and takes `aud` of exactly that value; without one it refuses every `aud`. The kids
    that it writes and takes begin with `prefix`; `typ` is the media type that it writes.
    """

    def __init__(self, audience: str | None = None, prefix: str = "", typ: str = "JWT") -> None:
        self.typ = typ
        super().__init__(
            api_settings.ALGORITHM,
            issuer=api_settings.ISSUER,
            leeway=api_settings.LEEWAY,
            audience=audience,
        )
        self.prefix = prefix

    def encode(self, payload: Claims) -> str:
        kid, private = signing_keys.signing_key()
        payload = payload | {"iss": self.issuer}
        if self.audience is not None:
            payload["aud"] = self.audience
        headers = {"kid": self.prefix + kid, "typ": self.typ}
        return jwt.encode(payload, private, self.algorithm, headers=headers)

    def decode(self, token: str, verify: bool = True) -> Claims:
        """The claims of a token of ours, which is always verified; else TokenBackendError."""
        try:
            kid = kid_of(token.partition(".")[0])
            key = signing_keys.current().get(kid.removeprefix(self.prefix))
            if key is None or not kid.startswith(self.prefix):
                raise jwt.InvalidKeyError("unknown key")
            return dict(verified_claims(token, key, self.audience))  # a Token changes its own
        except DECODE_ERRORS as error:
            raise TokenBackendError("invalid token") from error


class RefreshBackend(KeyRingBackend):
    """Refresh tokens as they are written now, and as they were before: with the key's own kid and
    without an `aud`. The last of those ends REFRESH_TOKEN_SECONDS after the upgrade."""

    def __init__(self) -> None:
        super().__init__(f"{api_settings.ISSUER}/auth/refresh", REFRESH_PREFIX)
        self.before = KeyRingBackend()

    def decode(self, token: str, verify: bool = True) -> Claims:
        try:
            return super().decode(token, verify)
        except TokenBackendError:
            return self.before.decode(token, verify)


class Token(simplejwt.Token):
    """What both kinds of token share. Raises TokenError where one does not hold."""

    # One with an audience makes a kind of token that is good for that audience alone.
    token_backend = KeyRingBackend()

    @classmethod
    def for_sign_in(cls, user: User, auth_time: int) -> "Token":
        """A token of this kind for a user who signed in at `auth_time` (epoch seconds)."""
        token = cls()
        token.payload |= {
            "sub": str(user.pk),
            "account_id": str(user.account_id),
            "role": user.role,
            "auth_time": auth_time,
            "token_version": user.token_version,
            "exp": min(token["exp"], auth_time + settings.SESSION_MAX_SECONDS),
        }
        return token

    def verify(self) -> None:
        """What changes though the token does not: whether it still lives. And whether it is of
        this kind."""
        super().verify()
        if time.time() >= self["auth_time"] + settings.SESSION_MAX_SECONDS:
            raise TokenError("too old")


class AccessToken(Token):
    token_type = "access"  # noqa: S105  (a claim's value, no secret)
    lifetime = api_settings.ACCESS_TOKEN_LIFETIME


class RefreshToken(Token):
    token_backend = RefreshBackend()
    token_type = "refresh"  # noqa: S105
    lifetime = api_settings.REFRESH_TOKEN_LIFETIME


def issue(
    user: User, auth_time: int | None = None, amr: Sequence[str] = PASSWORD
) -> tuple[AccessToken, RefreshToken]:
    """A new pair; `amr` says how the user signed in. Without `auth_time` it was just now."""
    if auth_time is None:
        auth_time = int(time.time())
    pair = AccessToken.for_sign_in(user, auth_time), RefreshToken.for_sign_in(user, auth_time)
    for token in pair:
        token["amr"] = list(amr)
    return pair
