"""Reads the bearer token (RFC 6750) once a request, and loads its user in one query."""

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework_simplejwt.exceptions import TokenError

from accounts.models import User
from accounts.tokens import AccessToken


def bearer_token(request: Request) -> AccessToken | None:
    """The request's access token if its signature, expiry and claims hold; checked once.

    The limiter asks first, for the caller's name; the authentication then finds it read.
    """
    kept = vars(request)
    if "bearer_token" not in kept:
        encoded = encoded_bearer_token(request)
        try:
            kept["bearer_token"] = AccessToken(encoded) if encoded else None
        except TokenError:
            kept["bearer_token"] = None
    token: AccessToken | None = kept["bearer_token"]
    return token


def encoded_bearer_token(request: Request) -> str:
    """What comes after `Authorization: Bearer`, or ""."""
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    # RFC 9110 §11.1: the scheme's case does not matter.
    return str(encoded).strip() if scheme.lower() == "bearer" else ""


def id_in_bearer_token(request: Request) -> str | None:
    """Whom a request is counted for: the user's id in a token that holds, without a query."""
    token = bearer_token(request)
    return token["sub"] if token else None


class BearerAuthentication(BaseAuthentication):
    """`request.user` is the active user whom the token names, whose sessions have not been ended
    since; `request.auth` is the token. A call without a token is nobody's."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """Raises AuthenticationFailed for an invalid token."""
        if "HTTP_AUTHORIZATION" not in request.META:
            return None
        token = bearer_token(request)
        if token is None:
            raise AuthenticationFailed
        user = User.objects.find_by_token(token["sub"], token["token_version"])
        if user is None:
            raise AuthenticationFailed
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
