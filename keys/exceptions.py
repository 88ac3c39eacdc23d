"""A missing key's error; config.errors shapes it."""

from rest_framework.exceptions import APIException


class SigningKeyMissing(APIException):
    """A token's key is published and not on this host, or the host has no key at all."""

    status_code = 503
    default_detail = "service unavailable"
