"""The error of a service that has no key to sign with; config.errors shapes it."""

from rest_framework.exceptions import APIException


class NoSigningKey(APIException):
    """SECRET_KEY decrypts none of the keys."""

    status_code = 503
    default_detail = "service unavailable"
