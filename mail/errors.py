"""Errors of e-mailed links; api.errors makes the answers."""

from rest_framework.exceptions import APIException


class InvalidLink(APIException):
    """An e-mailed link's token that is unknown, expired, used, replaced or revoked."""

    status_code = 400
    default_detail = "invalid or expired token"


class LinkOfAnotherUser(APIException):
    """The link belongs to another user than the one who is signed in."""

    status_code = 403
    default_detail = "link of another user"
