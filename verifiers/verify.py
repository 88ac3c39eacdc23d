"""Verify the sign-in service's access tokens: a file to copy into your own service.

Needs PyJWT (`pyjwt[crypto]`) and AUTH_URL, the service's address; AUTH_ISSUER if JWT_ISSUER is set.
Call `verify`, or use `AccessTokenAuthentication` in Django REST framework, `caller` in FastAPI."""

import contextlib
import os
import threading
import time
from types import SimpleNamespace

import jwt

CLIENT = jwt.PyJWKClient(os.environ["AUTH_URL"].rstrip("/") + "/.well-known/jwks.json", timeout=5)
ISSUER = os.environ.get("AUTH_ISSUER", "consulting-management")
REFRESH = 300  # seconds between two reads; a new key is published 600 before it signs
COOLDOWN = 60  # seconds between two reads for unknown keys, which anyone can name in a token


# The public keys by their kid. A thread reads them, so that no request waits for it.
class Keys:
    keys, searched_at, lock, thread = {}, -COOLDOWN, threading.Lock(), threading.Thread()

    def get(self, kid):
        """The public key of a token's kid. For an unknown kid one caller a minute reads the keys,
        and the others wait. Raises jwt.InvalidTokenError if it stays unknown."""
        if kid not in self.keys or not self.thread.is_alive():
            with self.lock:
                if not self.thread.is_alive():  # at first, and after a fork
                    self.thread = threading.Thread(target=self.keep_fresh, daemon=True)
                    self.thread.start()
                if kid not in self.keys and time.monotonic() - self.searched_at >= COOLDOWN:
                    self.searched_at = time.monotonic()
                    self.read()
        if self.keys and kid not in self.keys:
            raise jwt.InvalidTokenError("unknown key")
        return self.keys[kid]  # a KeyError, and so a 500, while no key could be read

    def keep_fresh(self):
        while time.sleep(REFRESH if self.keys else 5) is None:
            self.read()

    def read(self):
        with contextlib.suppress(jwt.PyJWTError, OSError, ValueError):  # the keys that it has stay
            self.keys = {key.key_id: key for key in CLIENT.get_signing_keys(refresh=True)}


KEYS = Keys()


def verify(token):
    """The claims of an encoded access token. Raises jwt.InvalidTokenError for any other token, and
    KeyError while no key could be read."""
    key = KEYS.get(jwt.get_unverified_header(token).get("kid"))
    # `iat` is no condition: right after a sign-in it is ahead of a clock that is slow.
    options = {"verify_iat": False}
    claims = jwt.decode(token, key, ["RS256"], options, issuer=ISSUER, leeway=5)
    if claims.get("token_type") != "access" or "aud" in claims or "exp" not in claims:
        raise jwt.InvalidTokenError("not an access token")
    return claims


with contextlib.suppress(ImportError):
    from rest_framework import authentication, exceptions

    class AccessTokenAuthentication(authentication.TokenAuthentication):
        keyword = "Bearer"

        def authenticate_credentials(self, token):
            try:
                claims = verify(token)
            except jwt.InvalidTokenError as error:
                raise exceptions.AuthenticationFailed from error
            return SimpleNamespace(is_authenticated=True, pk=claims["sub"], **claims), token


with contextlib.suppress(ImportError):
    from fastapi import Depends, HTTPException, security

    def caller(bearer=Depends(security.HTTPBearer(auto_error=False))):
        try:
            return verify(bearer.credentials if bearer else "")
        except jwt.InvalidTokenError as error:
            raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"}) from error
