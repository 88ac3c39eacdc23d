"""Access and refresh tokens: issued, read, and refused when too old (RFC 7519, RFC 9068).

Claims: `iss sub account_id role token_type iat exp jti`, and two of our own. `auth_time` is when
the user last showed a password or a link (the name is OpenID Connect's); refreshing copies it, so
it bounds how long a sign-in can be prolonged. `token_version` is the user's at that time; raising
the user's ends all sessions at once, without a list of tokens.
"""

import base64
import functools
import json
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import jwt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from django.conf import settings
from rest_framework_simplejwt import tokens as simplejwt
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenError

from accounts import keys
from accounts.models import User

RS256 = padding.PKCS1v15(), hashes.SHA256()  # RFC 7518 §3.3
INTEGERS = ["exp", "iat", "auth_time", "token_version"]
STRINGS = ["sub", "jti", "token_type"]
DECODE_ERRORS = (InvalidSignature, ValueError, LookupError, TypeError, RecursionError)
# We write neither: such a token is meant for somebody else, or for later.
FORBIDDEN_CLAIMS = {"aud", "nbf"}


def decoded(segment: str) -> bytes:
    """Base64url without padding and in its one spelling (RFC 7515 §2); ValueError for any other."""
    content = base64.b64decode(segment + "=" * (-len(segment) % 4), b"-_", validate=True)
    if base64.urlsafe_b64encode(content).rstrip(b"=") != segment.encode():
        raise ValueError("another spelling")
    return content


@functools.lru_cache(maxsize=16)
def kid_of(header: str) -> str:
    """The `kid` in a token's encoded header; ValueError for one that we do not write.

    Tokens of one key share one header, so it is read once for all of them.
    """
    members = json.loads(decoded(header))
    if not isinstance(members, dict) or members.get("alg") != "RS256" or "crit" in members:
        raise ValueError("no header of ours")  # RFC 8725 §3.1, RFC 7515 §4.1.11
    kid = members.get("kid")
    return kid if isinstance(kid, str) else ""


@functools.lru_cache(maxsize=2048)
def claims_of(token: str, kid: str) -> dict[str, Any]:
    """The claims of a token that the ring's key `kid` has signed; raises for any other.

    The signature comes first, by RS256 whatever the header says; of a forged token nothing but the
    header is read. PyJWT looks at each character of a token in Python, which takes three times as
    long as the signature.

    A client sends one access token for an hour, and neither its bytes nor its signature change:
    what has been found good once (nothing else is kept) is not taken apart again. Its time is
    another matter: `Token.verify` looks at that each time, and the caller at whether the key is
    still on the ring. At most 2,048 tokens of some 2 kB are held.
    """
    key = keys.load().verifying_key(kid)
    if key is None:
        raise TokenError("unknown key")
    signed, _, signature = token.rpartition(".")
    key.verify(decoded(signature), signed.encode(), *RS256)
    claims: dict[str, Any] = json.loads(decoded(signed.partition(".")[2]))
    if (
        claims["iss"] != settings.JWT_ISSUER
        or not all(type(claims[name]) is int for name in INTEGERS)
        or not all(type(claims[name]) is str for name in STRINGS)
        or not 0 <= claims["token_version"] < 2**31  # what the column can hold
        or str(UUID(claims["sub"])) != claims["sub"]
        or claims["iat"] > time.time() + settings.JWT_LEEWAY_SECONDS
        or FORBIDDEN_CLAIMS & claims.keys()
    ):
        raise TokenError("no claims of ours")
    return claims


class KeyRingBackend(TokenBackend):
    """simplejwt's backend over many keys: `kid` names the one that signed (RFC 7515 §4.1.4).

    simplejwt's own holds a single key and writes no `kid`.
    """

    def encode(self, payload: dict[str, Any]) -> str:
        key = keys.load().signing_key()
        payload = payload | {"iss": settings.JWT_ISSUER}
        return jwt.encode(payload, key.private, self.algorithm, headers={"kid": key.kid})

    def decode(self, token: str, verify: bool = True) -> dict[str, Any]:
        """The claims of a token of ours, which is always verified; else TokenError."""
        try:
            kid = kid_of(token.partition(".")[0])
            if keys.load().verifying_key(kid) is None:
                raise TokenError("unknown key")
            return dict(claims_of(token, kid))  # a copy: a Token changes its own
        except DECODE_ERRORS:
            raise TokenError("invalid token") from None


BACKEND = KeyRingBackend("RS256")


class Token(simplejwt.Token):
    """What both kinds of token share. Raises TokenError where one does not hold."""

    lifetime_setting: str

    @property
    def lifetime(self) -> timedelta:
        return timedelta(seconds=getattr(settings, self.lifetime_setting))

    def get_token_backend(self) -> TokenBackend:
        return BACKEND

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
        """What `claims_of` cannot keep: whether the token is of this kind, and still lives."""
        now = time.time()
        if now >= self["exp"] + settings.JWT_LEEWAY_SECONDS:
            raise TokenError("expired")
        if now >= self["auth_time"] + settings.SESSION_MAX_SECONDS:
            raise TokenError("too old")
        self.verify_token_type()


class AccessToken(Token):
    token_type = "access"  # noqa: S105  (a claim's value, no secret)
    lifetime_setting = "ACCESS_TOKEN_SECONDS"


class RefreshToken(Token):
    token_type = "refresh"  # noqa: S105
    lifetime_setting = "REFRESH_TOKEN_SECONDS"


def issue(user: User, auth_time: int | None = None) -> tuple[AccessToken, RefreshToken]:
    """A new pair. Without `auth_time` the user has signed in just now."""
    if auth_time is None:
        auth_time = int(time.time())
    return AccessToken.for_sign_in(user, auth_time), RefreshToken.for_sign_in(user, auth_time)
