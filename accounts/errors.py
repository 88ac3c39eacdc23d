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
    advice = "Make another user an admin, or delete the company."  # to operators


class LastWayBack(LastAdmin):
    """The company requires its provider: one admin must be able to sign in without it."""

    default_detail = gettext_noop("the last way back cannot be removed")
    advice = "Let another admin keep a password, or switch the connection off."


class CannotKeepPassword(APIException):
    """For `keeps_password` of a user without password, second factor or the role of an admin."""

    status_code = 409
    default_detail = gettext_noop("only for admins with a password and a second factor")


class SignInAtProvider(APIException):
    """Where the company requires its provider. `extra` is added to the answer's body."""

    status_code = 409
    default_detail = gettext_noop("sign in with your company's account")

    def __init__(self, company: str) -> None:
        super().__init__()
        self.extra = {"company": company}


class EmailFromProvider(APIException):
    """The user's company requires its provider, by the domain of the address."""

    status_code = 409
    default_detail = gettext_noop("your company manages your e-mail address")


class ConnectionUntested(APIException):
    status_code = 409
    default_detail = gettext_noop("test the connection first")


class ConnectionStopped(APIException):
    status_code = 409
    default_detail = gettext_noop("our support team has switched the connection off")


class NoWayBack(APIException):
    status_code = 409
    default_detail = gettext_noop("first choose an admin who keeps a password")


class DomainListed(APIException):
    status_code = 409
    default_detail = gettext_noop("domain already listed")


class TooManyDomains(APIException):
    status_code = 409
    default_detail = gettext_noop("too many domains")


class DomainOfAnother(APIException):
    status_code = 409
    default_detail = gettext_noop("another company has proved this domain")
