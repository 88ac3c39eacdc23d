"""Errors about users and companies: a status and the words of the contract; `config.errors` shapes
the answers."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException


class EmailTaken(APIException):
    status_code = 409
    default_detail = gettext_noop("e-mail already registered")


class NotAdmin(APIException):
    """The answer of IsAdmin, for the schema of views that ask it for some methods only."""

    status_code = 403
    default_detail = "not permitted for your role"


class OwnSecondFactorMissing(APIException):
    status_code = 409
    default_detail = "set up a second factor yourself first"


class LastAdmin(APIException):
    status_code = 409
    default_detail = gettext_noop("the last admin cannot be removed")
