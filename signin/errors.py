"""Errors of signing in and of second factors: a status and the words of the contract.

`config.errors` shapes the answers. Where a call carries a bearer token, `ProofView` answers
`FactorNeeded` and `WrongPasskey` with 403: a 401 would have the client refresh and guess again.
"""

from typing import Any

from rest_framework.exceptions import APIException


class WrongCredentials(APIException):
    status_code = 401
    default_detail = "wrong e-mail or password"


class WrongPassword(APIException):
    """For calls with a bearer token, which answer 403 for the reason above."""

    status_code = 403
    default_detail = "wrong password"


class InvalidRefreshToken(APIException):
    status_code = 401
    default_detail = "invalid or expired refresh token"


class TooManyHashes(APIException):
    """Too many callers wait for a password to be hashed. Nothing was looked up or counted."""

    status_code = 503
    default_detail = "service unavailable"
    wait = 2  # seconds until it is worth another try


class FactorNeeded(APIException):
    """The password is right, but not sufficient. `extra` stands in the answer beside the error."""

    status_code = 401

    def __init__(self, **extra: object) -> None:
        super().__init__()
        self.extra: dict[str, Any] = extra


class SecondFactorRequired(FactorNeeded):
    """The call has neither a code nor a passkey. Counts as neither failure nor success. `methods`
    are those that the user has."""

    default_detail = "second factor required"


class WrongCode(FactorNeeded):
    """The code or the passkey is wrong, which counts like a wrong password. `cause` tells the user,
    who has shown the password, what to do about it."""

    default_detail = "wrong code"


class FactorMustBeSetUp(FactorNeeded):
    """The company requires a second factor, and the user has none yet. `enrolment` is a token to
    add one with."""

    default_detail = "second factor must be set up"


FACTOR_ERRORS = (SecondFactorRequired, WrongCode, FactorMustBeSetUp)


class WrongPasskey(APIException):
    """Anything wrong about a passkey: a precise answer would help a forger."""

    status_code = 401
    default_detail = "wrong passkey"


class NoSuchFactor(APIException):
    """Also the answer of all passkey calls where this service's host does not allow passkeys."""

    status_code = 404
    default_detail = "not found"


class TooManyFactors(APIException):
    status_code = 409
    default_detail = "too many factors"


class FactorStillRequired(APIException):
    status_code = 409
    default_detail = "your company requires a second factor"


class CannotResetOwnFactors(APIException):
    status_code = 409
    default_detail = "use your own account page"
