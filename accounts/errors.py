"""Errors about users and companies, with the contract's status and text."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException


class EmailTaken(APIException):
    status_code = 409
    default_detail = gettext_noop("e-mail already registered")


class NotAdmin(APIException):
    """What IsAdmin answers, for the schema of views that require it for some methods only."""

    status_code = 403
    default_detail = "not permitted for your role"


class OwnSecondFactorMissing(APIException):
    status_code = 409
    default_detail = "set up a second factor yourself first"


class LastAdmin(APIException):
    status_code = 409
    default_detail = gettext_noop("the last admin cannot be removed")
