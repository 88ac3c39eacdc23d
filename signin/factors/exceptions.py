"""Errors of second factors: a status and the words of decisions §12; config.errors shapes them.

Those of a sign-in are 401s; beside a bearer token `ProofView` makes 403s of them.
"""

from rest_framework.exceptions import APIException


class FactorNeeded(APIException):
    """The password is right, and does not suffice."""

    status_code = 401


class SecondFactorRequired(FactorNeeded):
    """Neither a code nor a passkey came along. Neither a failure nor a success."""

    more = {"methods": {"type": "array", "items": {"type": "string"}}}
    default_detail = "second factor required"

    def __init__(self, methods: list[str]) -> None:
        super().__init__()
        self.extra: dict[str, object] = {"methods": methods}


class WrongCode(FactorNeeded):
    """The code or the passkey that came along is wrong: a failure like a wrong password."""

    default_detail = "wrong code"


class FactorMustBeSetUp(FactorNeeded):
    """The company requires a second factor, and the person has none yet."""

    more = {"enrolment": {"type": "string"}}
    default_detail = "second factor must be set up"

    def __init__(self, enrolment: str) -> None:
        super().__init__()
        self.extra = {"enrolment": enrolment}


class WrongPasskey(APIException):
    """Whatever fails about a passkey: an answer that told what would help a forger."""

    status_code = 401
    default_detail = "wrong passkey"


class NoSuchFactor(APIException):
    """Or no passkeys at all, where this service's host allows none."""

    status_code = 404
    default_detail = "not found"


class TooManyFactors(APIException):
    status_code = 409
    default_detail = "too many factors"


class FactorStillRequired(APIException):
    status_code = 409
    default_detail = "your company requires a second factor"


class NotOnesOwn(APIException):
    status_code = 409
    default_detail = "use your own account page"
