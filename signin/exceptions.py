"""Errors of signing in: a status and the words of decisions §3; config.errors shapes them."""

from rest_framework.exceptions import APIException


class WrongCredentials(APIException):
    status_code = 401
    default_detail = "wrong e-mail or password"


class WrongPassword(APIException):
    """Of a call that has a bearer token: a 401 there would have the client refresh, and send the
    guess again."""

    status_code = 403
    default_detail = "wrong password"


class InvalidRefreshToken(APIException):
    status_code = 401
    default_detail = "invalid or expired refresh token"


class TooManyHashes(APIException):
    """Nobody's turn to hash a password came in time; nothing was looked at, and nothing counted."""

    status_code = 503
    default_detail = "service unavailable"
    wait = 2  # seconds until it is worth another try
