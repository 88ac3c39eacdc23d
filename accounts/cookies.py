"""The refresh cookie: set and cleared with the same attributes, or browsers would keep it."""

import time

from django.conf import settings
from django.http.response import HttpResponseBase

from accounts.tokens import RefreshToken

NAME = "service_refresh"
PATH = "/auth"


def write(response: HttpResponseBase, value: str, max_age: int) -> None:
    response.set_cookie(
        NAME,
        value,
        max_age=max_age,
        path=PATH,
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite=settings.COOKIE_SAMESITE,  # type: ignore[arg-type]
    )


def set_refresh_cookie(response: HttpResponseBase, token: RefreshToken, encoded: str) -> None:
    """Hand the browser the token for as long as it is valid; no script can read it."""
    write(response, encoded, max(0, token["exp"] - int(time.time())))


def clear_refresh_cookie(response: HttpResponseBase) -> None:
    """Make the browser forget the token."""
    write(response, "", 0)
