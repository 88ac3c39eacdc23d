"""An e-mailed link's one error; config.errors shapes it."""

from rest_framework.exceptions import APIException


class InvalidLink(APIException):
    """An e-mailed link's token that is unknown, expired, used, replaced or revoked."""

    status_code = 400
    default_detail = "invalid or expired token"
