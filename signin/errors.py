"""Errors of sign-in and of second factors, of which `api.errors` makes answers.

Calls with a bearer token answer 403: after a 401 clients would refresh their token and try again.
"""

import enum
from typing import Any

from rest_framework.exceptions import APIException

from accounts.errors import Conflict
from api.openapi import ERROR_MEMBERS, STRING_LIST


class WrongCredentials(APIException):
    status_code = 401
    default_detail = "wrong e-mail or password"


class WrongPassword(APIException):
    """The WrongCredentials of calls with a bearer token."""

    status_code = 403
    default_detail = "wrong password"


class InvalidRefreshToken(APIException):
    status_code = 401
    default_detail = "invalid or expired refresh token"


class TooManyHashes(APIException):
    """Too many requests wait to hash a password, or this one has waited too long."""

    status_code = 503
    default_detail = "service unavailable"
    wait = 2  # seconds, for Retry-After


class FactorError(APIException):
    """Base of the errors after a right password. The answer's body gets `extra`'s members."""

    status_code = 401

    def __init__(self, **extra: object) -> None:
        super().__init__()
        self.extra: dict[str, Any] = extra


class SecondFactorRequired(FactorError):
    """The request has no factor, which is no failed attempt. The user has set `methods` up."""

    default_detail = "second factor required"


class WrongCodeReason(enum.StrEnum):
    """Why a code or a passkey is wrong; the API's `cause`."""

    WRONG_CODE = enum.auto()
    USED_CODE = enum.auto()
    OLD_CODE = enum.auto()
    WRONG_RECOVERY_CODE = enum.auto()
    WRONG_PASSKEY = enum.auto()


class WrongCode(FactorError):
    """The code or the passkey is wrong. At a sign-in and a re-authentication it is a failed
    attempt. `cause` is a WrongCodeReason."""

    default_detail = "wrong code"


class FactorMustBeSetUp(FactorError):
    """The company, or STAFF_SECOND_FACTOR, requires a second factor, and the user has none.
    `enrolment` is a token to add one with."""

    default_detail = "second factor must be set up"


FACTOR_ERRORS = (SecondFactorRequired, WrongCode, FactorMustBeSetUp)


class FactorRefused(APIException):
    """A FactorError or WrongPasskey in a call with a bearer token: 403 instead of 401."""

    status_code = 403

    def __init__(self, error: APIException) -> None:
        super().__init__(error.detail)
        self.extra: dict[str, Any] = getattr(error, "extra", {})


class WrongPasskey(APIException):
    """The passkey is invalid. A reason would help an attacker, so the answer has none."""

    status_code = 401
    default_detail = "wrong passkey"


class NoSuchFactor(APIException):
    status_code = 404
    default_detail = "not found"


class TooManyFactors(Conflict):
    default_detail = "too many factors"


class FactorStillRequired(Conflict):
    default_detail = "your company requires a second factor"


class CannotResetOwnFactors(Conflict):
    default_detail = "use your own account page"


ERROR_MEMBERS |= {
    "methods": STRING_LIST | {"description": "With `second factor required`."},
    "cause": {
        "enum": [reason.value for reason in WrongCodeReason],
        "description": "With `wrong code`.",
    },
    "enrolment": {"type": "string", "description": "With `second factor must be set up`."},
    "company": {"type": "string", "description": "With `sign in with your company's account`."},
}
