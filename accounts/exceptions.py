"""Errors of signing in: a status and the words that decisions fixed; config.errors shapes them."""

from rest_framework.exceptions import APIException


class WrongCredentials(APIException):
    status_code = 401
    default_detail = "wrong e-mail or password"


class InvalidRefreshToken(APIException):
    status_code = 401
    default_detail = "invalid or expired refresh token"


class InvalidLink(APIException):
    """An e-mailed link's token that is unknown, expired, used, replaced or revoked."""

    status_code = 400
    default_detail = "invalid or expired token"


class EmailTaken(APIException):
    status_code = 409
    default_detail = "e-mail already registered"


class LastAdmin(APIException):
    status_code = 409
    default_detail = "the last admin cannot be removed"


class TooManyHashes(APIException):
    """Nobody's turn to hash a password came in time; nothing was looked at, and nothing counted."""

    status_code = 503
    default_detail = "service unavailable"
    wait = 2  # seconds until it is worth another try


class SigningKeyMissing(APIException):
    """A token's key is published and not on this host, or the host has no key at all."""

    status_code = 503
    default_detail = "service unavailable"
