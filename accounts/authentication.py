"""Reads the bearer token (RFC 6750) once a request, and loads its user in one query."""

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework_simplejwt.exceptions import TokenError

from accounts.models import User
from accounts.tokens import AccessToken


def bearer_token(request: HttpRequest) -> AccessToken | None:
    """The request's access token if its signature, expiry and claims hold; checked once.

    The limiter asks first, for the caller's name; the authentication then finds it read.
    """
    if not hasattr(request, "bearer_token"):
        request.bearer_token = read_bearer_token(request)  # type: ignore[attr-defined]
    token: AccessToken | None = request.bearer_token  # type: ignore[attr-defined]
    return token


def read_bearer_token(request: HttpRequest) -> AccessToken | None:
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer":  # RFC 9110 §11.1: the scheme's case does not matter
        return None
    try:
        return AccessToken(encoded.strip())
    except TokenError:
        return None


def bearer(request: HttpRequest) -> User:
    """The active user whom the token names, whose sessions have not been ended since.

    Raises AuthenticationFailed for every other.
    """
    token = bearer_token(request)
    user = token and User.objects.for_access_token(token)
    if not user:
        raise AuthenticationFailed
    return user


class BearerAuthentication(BaseAuthentication):
    """`request.user` is whom the token names; else 401."""

    def authenticate(self, request: Request) -> tuple[User, None]:
        return bearer(request._request), None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
