"""Errors for too many (RFC 6585) and too large requests (RFC 9110)."""

from rest_framework.exceptions import APIException


class RateLimited(APIException):
    """The caller's limit in a tier other than the credential tier is used up."""

    status_code = 429
    default_detail = "rate_limited"
    extra = {
        "message": "Too many requests: wait for the seconds that Retry-After names, then try again."
    }


class TooManyAttempts(APIException):
    """The caller's limit in the credential tier is used up, or the e-mail address is locked. Both
    answers are the same, so that an attacker cannot tell a lockout from a limit: Retry-After is
    always the time until the caller's own credential window ends."""

    status_code = 429
    default_detail = "too many attempts; please try again later"


class RequestTooLarge(APIException):
    """The body is longer than DATA_UPLOAD_MAX_MEMORY_SIZE."""

    status_code = 413
    default_detail = "request too large"
