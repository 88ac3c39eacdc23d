"""Errors of e-mailed links, with the status and the text of their answers."""

from rest_framework.exceptions import APIException


class InvalidLink(APIException):
    """The token of an e-mailed link is unknown, expired, used, replaced or revoked."""

    status_code = 400
    default_detail = "invalid or expired token"


class LinkOfAnotherUser(APIException):
    """The link belongs to another user than the one who is signed in."""

    status_code = 403
    default_detail = "link of another user"


class NoChangeWaiting(APIException):
    """No new e-mail address waits to be confirmed."""

    status_code = 404
    default_detail = "not found"
