"""Errors of API keys and of the feed; api.errors makes the answers."""

from rest_framework.exceptions import APIException

from accounts.errors import Conflict


class TooManyKeys(Conflict):
    """The company has MAX_LIVE_KEYS keys that work."""

    default_detail = "too many API keys"


class NotPermittedHere(APIException):
    """The caller of /auth/check is no user with the role, or no API key with the scope, that the
    query asks for."""

    status_code = 403
    default_detail = "not permitted"


class SignInTooOld(APIException):
    """The caller of /auth/check signed in longer ago than `max_age` seconds, or is an API key."""

    status_code = 401
    default_detail = "sign in again"


class InvalidCursor(APIException):
    """The parameter `after` is no cursor that this service has signed."""

    status_code = 400
    default_detail = "invalid cursor"


class ExpiredCursor(APIException):
    """Events after the cursor may be missing: they were pruned, or the database was restored."""

    status_code = 410
    default_detail = "read everything again"
